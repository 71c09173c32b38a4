"""A model is scored on the answers that its users get, without PyTorch."""

import json
import subprocess
import sys

import numpy as np
import pytest

import tabsa
from predicted_groups import predict_examples
from tabsa.datasets.loading import load
from tabsa.errors import DataError
from tabsa.evaluation.report import evaluate as score
from tabsa.inference.predictor import Predictor
from tabsa.schema import Dataset, Example

ABSENT = ("torch", "onnx", "sklearn", "nltk", "scipy", "matplotlib", "pandas", "pyarrow")


def test_the_command_scores_the_predictors_own_answers_to_the_last_digit_without_pytorch(tmp_path):
    command = ["evaluate", "places", "--data", "places", "--split", "test", "--bootstrap", "0", "--json"]
    written = [tmp_path / "r.html", tmp_path / "e.jsonl"]
    command += ["--report", str(written[0]), "--errors", str(written[1])]
    code = f"import sys; sys.modules.update(dict.fromkeys({ABSENT})); from tabsa.cli import main; main()"
    run = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    assert all(path.exists() for path in written)
    model, data = tabsa.load("places"), load("places", "test")
    answers = np.array(
        [
            [opinion.probabilities[label] for label in data.labels]
            for example in data.examples
            for opinion in model.predict(example.text, example.targets, data.aspects).opinions
        ]
    ).reshape(-1, len(data.aspects), len(data.labels))
    assert json.loads(run.stdout) == json.loads(json.dumps(score(data, answers, bootstrap=0, model="places").to_dict()))
    np.testing.assert_array_equal(predict_examples(model, data), answers)


@pytest.mark.parametrize(("field", "value"), [("aspects", ("price", "noise")), ("labels", ("none", "mixed"))])
def test_what_the_model_does_not_know(tiny_model, field, value):
    values = {"aspects": ("price",), "labels": ("none", "positive")} | {field: value}
    data = Dataset("mine", "all", values["aspects"], values["labels"], [Example("1", "x", ())])
    with pytest.raises(DataError, match=f"'{value[-1]}', which the model does not know"):
        predict_examples(Predictor(tabsa.load(tiny_model).folder), data)


def test_labels_in_memory_are_judged_as_those_of_a_file(tmp_path):
    rows = [
        {"text": "Camden is cheap.", "target": "Camden", "aspect": "price", "polarity": "positive"},
        {"text": "Hull is dear.", "target": "Hull", "aspect": "price", "polarity": "negative"},
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    of_file, of_rows = tabsa.evaluate("reader", path, "all", bootstrap=0), tabsa.evaluate("reader", rows, bootstrap=0)
    assert of_file.questions == pytest.approx(of_rows.questions, nan_ok=True, abs=0)
    assert of_file.confusion == of_rows.confusion
