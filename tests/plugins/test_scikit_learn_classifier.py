"""TabsaClassifier with the real scikit-learn: its checks, its tools, and what it answers against the Predictor."""

import pickle
from functools import partial
from unittest import SkipTest

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6", reason="needs pip install 'tabsa[sklearn]'")
pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")

from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_array

import tabsa
from reader_folder import small_reader, write_reader
from tabsa.datasets.own import frame_dataset
from tabsa.errors import DataError, DataWarning
from tabsa.plugins.scikit_learn import RowsError, TabsaClassifier, labelled_rows, question_rows

TEXTS = ["Camden is good food", "bad food a", "the price is good", "Camden is bad", "nothing", "good place"]
LABELS = ["positive", "negative", "none", "negative", "none", "positive"]


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> str:
    model = small_reader(late_interaction=1, rounded=True, sizes={"layers": 2})
    return str(write_reader(tmp_path_factory.mktemp("base") / "base", model, "int8", ("int8",)).path)


@pytest.fixture(scope="module")
def fitted(base):
    return TabsaClassifier(base, target="Camden", aspect="food", epochs=1).fit(TEXTS, LABELS)


class WordsOfNumbers(TabsaClassifier):
    """scikit-learn's checks give numbers; here they are written as words, and all the rest is as it is."""

    def _rows(self, X):
        words = [" ".join(f"{cell:.1f}" for cell in row) for row in check_array(X)]
        return super()._rows(words)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = True, False, False
        return tags


EXPECTED = {
    "check_classifiers_train": "asks for 83% on clouds of points, of a model with random weights that reads words",
    "check_fit2d_predict1d": "asks that a list be refused, and a list of texts is what people have",
}


def test_the_checks_of_scikit_learn(base):
    estimator = WordsOfNumbers(base, epochs=1)
    passed, skipped = [], []
    for one, check in estimator_checks_generator(estimator, expected_failed_checks=EXPECTED, mark="skip"):
        name = check.func.__name__ if isinstance(check, partial) else "expected to fail"
        try:
            check(one)
        except SkipTest:
            skipped.append(name)
        else:
            passed.append(name)
    assert {*skipped} <= {"expected to fail", "check_array_api_input"}
    assert len(passed) >= 45
    assert {"check_estimators_pickle", "check_fit_idempotent", "check_methods_subset_invariance"} <= {*passed}


def test_probabilities_are_the_models_among_the_labels_seen(fitted):
    assert list(fitted.classes_) == ["negative", "none", "positive"]
    shares = fitted.predict_proba(TEXTS)
    np.testing.assert_allclose(shares.sum(1), 1)
    model = tabsa.load(fitted.folder_)
    for text, row in zip(TEXTS, shares, strict=True):
        (opinion,) = model.predict(text, ["Camden"], ["food"], implied=True).opinions
        said = np.array([opinion.probabilities[label] for label in fitted.classes_])
        np.testing.assert_allclose(row, said / said.sum(), atol=1e-6)
    assert list(fitted.predict(TEXTS)) == [fitted.classes_[place] for place in shares.argmax(1)]


def test_rows_of_a_frame_ask_each_their_own(fitted):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars", reason="needs polars: pip install 'tabsa[polars]'")
    rows = [
        ("Camden is good", "Camden", "food"),
        ("Camden is good", None, "price"),
        ("Camden is good", "Camden", "price"),
    ]
    table = pandas.DataFrame(rows, columns=["text", "target", "aspect"], index=[3, 1, 2])
    asked = question_rows(table, "x", "y")
    assert asked == [
        ("Camden is good", "Camden", "food"),
        ("Camden is good", "x", "price"),
        ("Camden is good", "Camden", "price"),
    ]
    mixed = table[["aspect", "text"]].assign(stars=1)
    assert question_rows(mixed, "x", "y") == [(text, "x", aspect) for text, _, aspect in rows]
    assert question_rows(polars.from_pandas(table), "x", "y") == asked
    assert question_rows(np.array(rows, object), "x", "y") == asked
    assert question_rows(table["text"], "x", " y  z ") == [("Camden is good", "x", "y z")] * 3
    assert question_rows(np.array(TEXTS), "x", "y") == [(text, "x", "y") for text in TEXTS]
    alone = [TabsaClassifier.predict_proba(fitted, [row])[0] for row in rows]  # a list of tuples
    np.testing.assert_allclose(fitted.predict_proba(np.array(rows, object)), alone, atol=1e-6)


def test_only_what_is_asked_is_learnt():
    rows = question_rows(
        [("Camden is bad, Hull too", "Camden", "food"), ("Camden is bad, Hull too", "Hull", "price")], "", ""
    )
    data = frame_dataset(labelled_rows([*rows, *question_rows(["so"], "", "food")], ["negative", "none", "positive"]))
    assert data.labels == ("none", "positive", "negative")
    said = [(target.name, target.implied, aspect, label) for _, target, aspect, label in data.questions()]
    assert said == [
        ("Camden", False, "food", "negative"),
        ("Hull", False, "price", "none"),
        ("", True, "food", "positive"),
    ]
    with pytest.warns(DataWarning, match="dropped 1 repeated or conflicting"):
        labelled_rows([*rows, *question_rows(["so"], "", "food") * 2], ["negative", "none", "positive", "negative"])


def test_it_works_in_a_pipeline_a_cross_validation_and_a_search(base):
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    steps = make_pipeline(lower, TabsaClassifier(base, aspect="food", epochs=0))
    texts, labels = np.array(TEXTS * 2), np.array(LABELS * 2)
    scores = cross_val_score(steps, texts, labels, cv=2)
    model = tabsa.load(base)

    def likeliest(text, aspect):
        (opinion,) = model.predict(text.lower(), aspects=[aspect], implied=True).opinions
        return max(sorted({*LABELS}), key=lambda label: opinion.probabilities[label])

    assert scores.mean() == pytest.approx(
        np.mean([likeliest(text, "food") == one for text, one in zip(TEXTS, LABELS, strict=True)])
    )
    search = GridSearchCV(steps, {"tabsaclassifier__aspect": ["food", "price"]}, cv=2).fit(texts, labels)
    means = [
        np.mean([likeliest(t, aspect) == one for t, one in zip(TEXTS, LABELS, strict=True)])
        for aspect in ("food", "price")
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means)
    assert set(search.predict(texts)) <= {*LABELS}


def test_a_fitted_one_is_pickled_with_its_model(fitted, base):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.folder_ != fitted.folder_
    np.testing.assert_array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    place = again.folder_
    assert place.is_dir()
    del again
    assert not place.exists()
    as_it_is = TabsaClassifier(base, epochs=0).fit(TEXTS, LABELS)
    content = pickle.dumps(as_it_is)
    assert len(content) < 2000  # a base that has a name or a folder is not carried along
    np.testing.assert_array_equal(pickle.loads(content).predict(TEXTS), as_it_is.predict(TEXTS))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, 2.0]] * 2, ["a", "b"], "row 0 of X has a text of type float"),
        (np.zeros((2, 4)), ["a", "b"], "the shape 2 x 4; expected texts, or up to three columns"),
        (["a", " "], ["a", "b"], "an empty text"),
        ("ab", ["a", "b"], "X is one str; expected a list of texts"),
        (["one", "one"], ["a", "b"], "needs at least two texts"),
        (["one", "two"], ["a", " a"], "cannot be told apart"),
    ],
)
def test_what_is_wrong_is_said(base, X, y, message):
    with pytest.raises(ValueError, match=message) as error:
        TabsaClassifier(base).fit(X, np.array(y, object))
    assert isinstance(error.value, DataError)


def test_without_training_only_the_bases_labels_are_known(base):
    with pytest.raises(RowsError, match="the base knows no label 'angry'; it knows none, positive"):
        TabsaClassifier(base, epochs=0).fit(["a", "b"], ["angry", "none"])
    with pytest.raises(NotFittedError):
        TabsaClassifier(base).predict(["a"])
