"""Questions that go through an encoder's own layers: as vectors through its last ones, or as words through all."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

import slow_reader
from reader_factory import make_reader, moved, question_batch
from tabsa.errors import ModelError
from tabsa.models.reader.reader_network import QuestionBatch, untied_weights
from tabsa.nn.context import EVALUATION, Context
from tabsa.nn.transformer import padding_mask

KINDS = ["bert", "mpnet"]
ALONG = [
    {"along": 1, "layers": 0},
    {"along": 1, "layers": 1},
    {"along": 2, "layers": 0},
    {"along": 2, "layers": 1},
    {"along": 3, "layers": 0},  # all of the encoder's
    {"along": 3, "layers": 1, "inner": 3},
    {"along": 1, "layers": 0, "depth": 2},
    {"along": 2, "layers": 1, "depth": 2},
    {"along": 1, "layers": 0, "depth": 1},
]
DEEP = {"layers": 3}  # the encoder
OF_TEXTS = ("pieces", "lengths", "slots", "targets", "asked", "labels")


def ask(model, batch):
    return model(batch, context=EVALUATION).logits.detach()


def changed(batch, **arrays):
    return dataclasses.replace(batch, **arrays)


def made(kind, **options):
    return moved(make_reader(kind, sizes=DEEP, **options))


def context(*seeds):
    return Context(training=True, generators=[torch.Generator().manual_seed(seed) for seed in seeds])


def close(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", ALONG, ids=str)
def test_answers_along_are_those_of_the_equations(kind, options):
    model, batch = made(kind, **options), question_batch()
    logits = ask(model, batch)
    assert logits.shape == (2, 4, 5, 4)
    assert logits.dtype == torch.float32
    for seed, text, question in itertools.product(range(2), range(4), range(5)):
        expected = slow_reader.answer(model, batch, seed, text, question)
        np.testing.assert_allclose(logits[seed, text, question], expected, atol=1e-6, rtol=1e-6)
    assert logits.std() > 0.1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("along", [1, 2, 3])
def test_an_answer_along_does_not_change_with_what_else_is_asked(kind, along):
    model, batch = made(kind, along=along, layers=1), question_batch()
    whole = ask(model, batch)
    for chosen in ([0], [4], [2, 1], [3, 0, 4, 2, 1]):
        other = ask(model, changed(batch, targets=batch.targets[..., chosen], asked=batch.asked[..., chosen]))
        close(other, whole[:, :, chosen])
    turned = [2, 0, 1]
    where = torch.tensor([turned.index(row) for row in range(3)])
    more = torch.cat([batch.aspects[:, turned], torch.full((2, 3, 3), 5)], dim=2)  # and padding behind each
    more = torch.cat([more, more[:, :1] + 1], dim=1)
    widths = torch.cat([batch.aspect_lengths[:, turned], batch.aspect_lengths[:, :1]], dim=1)
    close(ask(model, changed(batch, aspects=more, aspect_lengths=widths, asked=where[batch.asked])), whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("along", [1, 2, 3])
def test_an_answer_along_does_not_change_with_other_texts_padding_and_order(kind, along):
    model, batch = made(kind, along=along, layers=1), question_batch()
    whole = ask(model, batch)
    for chosen in ([2], [1, 3], [3, 0, 2, 1]):
        own = changed(batch, **{name: getattr(batch, name)[:, chosen] for name in OF_TEXTS})
        longest = int(own.lengths.max())
        own = changed(own, pieces=own.pieces[..., :longest], slots=own.slots[..., :longest])
        close(ask(model, own), whole[:, chosen])
    longer = changed(
        batch,
        pieces=torch.cat([batch.pieces, torch.full((2, 4, 4), 7)], dim=2),
        slots=torch.cat([batch.slots, torch.full((2, 4, 4), -1)], dim=2),
    )
    close(ask(model, longer), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_targets_and_aspects_matter_along(kind):
    model, batch = made(kind, along=2, layers=0), question_batch()
    for name in ("targets", "asked"):
        first = torch.zeros_like(batch.asked)
        assert not torch.allclose(
            ask(model, changed(batch, **{name: first})), ask(model, changed(batch, **{name: first + 1})), atol=1e-2
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("along", [1, 2, 3])
def test_what_enters_as_the_text_did_comes_out_as_its_states(kind, along):
    """A question that is a piece's state becomes the piece's last state, but for MPNet's distances."""
    model, batch = made(kind, along=along), question_batch()
    encoder = model.encoder
    if encoder.distances is not None:
        torch.nn.init.zeros_(encoder.distances)
    reading = encoder.read(batch.pieces, batch.lengths, EVALUATION, along=along)
    mask = padding_mask(batch.lengths, batch.pieces.shape[2])
    found = model.hear(reading.entered, reading, mask, EVALUATION)
    torch.testing.assert_close(found, encoder(batch.pieces, batch.lengths, EVALUATION), atol=1e-10, rtol=0)
    assert len(reading.heard) == along


@pytest.mark.parametrize("kind", KINDS)
def test_what_no_question_goes_along_is_read_as_ever(kind):
    encoder, batch = made(kind).encoder, question_batch()
    reading = encoder.read(batch.pieces, batch.lengths, EVALUATION)
    assert reading.entered is reading.states
    assert not reading.heard
    assert torch.equal(reading.states, encoder(batch.pieces, batch.lengths, EVALUATION))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"along": 2, "layers": 0}, {"along": 1, "layers": 1}], ids=str)
def test_an_encoder_of_less_depth_is_its_first_layers(kind, options):
    short = make_reader(kind, sizes={"layers": 2}, **options)
    cut = make_reader(kind, sizes={"layers": 4}, depth=2, **options)
    assert cut.encoder.shape == short.encoder.shape
    for (name, own), (other, tensor) in zip(cut.named_parameters(), short.named_parameters(), strict=True):
        assert name == other
        assert torch.equal(own, tensor), name
    assert torch.equal(ask(cut, question_batch()), ask(short, question_batch()))
    assert set(cut.rate_factors(decay=0.5).values()) == set(short.rate_factors(decay=0.5).values())


@pytest.mark.parametrize("depth", [0, 3, 9])
def test_an_encoder_is_no_deeper_than_it_was(depth):
    assert make_reader(sizes=DEEP, depth=depth).encoder.shape.layers == 3


@pytest.mark.parametrize(("options", "layers"), [({"along": 4}, 3), ({"along": 3, "depth": 2}, 2)])
def test_questions_go_along_no_more_layers_than_there_are(options, layers):
    with pytest.raises(ModelError, match=f"go along {options['along']} layers; the encoder has {layers}$"):
        make_reader(sizes=DEEP, **options)


def test_a_question_goes_one_way():
    with pytest.raises(ModelError, match="'along' and 'through' are two ways"):
        make_reader(along=1, through=True)
    for way in ({"along": 1}, {"through": True}):
        with pytest.raises(ModelError, match="neither 'along' nor 'through'"):
            make_reader(contextual=True, **way)


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_along_starts_between_its_target_and_its_aspect(kind):
    model, batch = make_reader(kind, along=1), question_batch()
    d = model.encoder.shape.size
    of_target, of_aspect, of_both = model.question.detach().split(d, dim=1)
    eye = torch.eye(d)
    for noise in (of_target - 0.6 * eye, of_aspect - 0.6 * eye, of_both):
        assert noise.abs().max() < 0.1
        assert noise.std() == pytest.approx(0.02, rel=0.1)
    assert not torch.equal(model.question[0], model.question[1])
    reading = model.encoder.read(batch.pieces, batch.lengths, EVALUATION, along=1)
    target = model.target_states(batch, reading.entered)
    aspects = model.aspect_states(batch, EVALUATION)
    aspect = torch.stack([own[rows] for own, rows in zip(aspects, batch.asked, strict=True)])
    question, start = model.questions(batch, reading.entered, aspects), 0.6 * (target + aspect)
    assert torch.nn.functional.cosine_similarity(question, start, dim=-1).min() > 0.9
    assert (question - start).std() < start.std() / 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{"along": 1, "layers": 0}, {"along": 2, "layers": 1}], ids=str)
def test_everything_learns_along_and_a_seed_is_the_same_alone_and_in_a_group(kind, options):
    """With no layers of the questions' own, too, the encoder's last layer learns."""
    group = make_reader(kind, seeds=(1, 2, 3), sizes=DEEP, **options)
    alone = make_reader(kind, seeds=(2,), sizes=DEEP, **options)
    learnt = same_alone_and_in_a_group(group, alone, question_batch(seeds=3))
    assert learnt == {name for name, _ in group.named_parameters()}


def same_alone_and_in_a_group(group, alone, batch):
    """The second seed of a group and that seed alone; the names of the parameters that learn."""
    own = QuestionBatch(*(None if array is None else array[1:2] for array in vars(batch).values()))
    of_group, of_alone = group(batch, context=context(1, 2, 3)).logits, alone(own, context=context(2)).logits
    torch.testing.assert_close(of_group[1:2], of_alone, atol=1e-5, rtol=0)
    of_group.square().sum().backward()
    of_alone.square().sum().backward()
    learnt = set()
    for (name, tensor), one in zip(group.named_parameters(), alone.parameters(), strict=True):
        assert (tensor.grad is None) == (one.grad is None), name
        if one.grad is not None:
            learnt.add(name)
            assert one.grad.isfinite().all(), name
            assert one.grad.any(), name
            torch.testing.assert_close(tensor.grad[1], one.grad[0], atol=1e-5, rtol=1e-3, msg=name)
    return learnt


def packed_batch(seeds=2, texts=3, most=4, vocabulary=60, seed=8):
    """Random texts with the pieces of their questions behind them, named ones and others; the last has no question."""
    rng = np.random.default_rng(seed)
    rows = []
    for _, text in np.ndindex(seeds, texts):
        length = int(rng.integers(3, 10))
        columns = {"pieces": rng.integers(4, vocabulary, length).tolist(), "owners": [0] * length}
        columns["places"] = [*range(length)]
        count = 0 if text == texts - 1 else most - text
        for question in range(count):
            named, words = bool(rng.integers(2)), int(rng.integers(1, 4))
            number = [0, 1, 2, *range(3, words + 4)] if named else [0, *range(3, words + 4)]
            columns["pieces"] += rng.integers(4, vocabulary, len(number)).tolist()
            columns["owners"] += [question + 1] * len(number)
            columns["places"] += [length + n for n in number]
        rows.append(columns)
    lengths = np.array([len(row["pieces"]) for row in rows])

    def whole(name):
        array = np.zeros((len(rows), lengths.max()), np.int64)
        for own, row in zip(array, rows, strict=True):
            own[: len(row[name])] = row[name]
        return torch.from_numpy(array).view(seeds, texts, -1)

    asked = torch.zeros(seeds, texts, most, dtype=torch.int64)
    nothing = torch.zeros(seeds, 1, 1, dtype=torch.int64)
    return QuestionBatch(
        whole("pieces"), torch.from_numpy(lengths).view(seeds, texts), torch.full_like(whole("pieces"), -1),
        nothing, nothing[..., 0] + 1, asked - 1, asked, asked, None, whole("owners"), whole("places"),
    )  # fmt: skip


def beside(model, batch, seed, text, question):
    """What is said to one question, read with its text and with nothing else."""
    live = int(batch.lengths[seed, text])
    pieces, owners, places = (
        getattr(batch, name)[seed, text, :live].numpy() for name in ("pieces", "owners", "places")
    )
    own = owners == question + 1
    assert places[owners == 0].tolist() == [*range((owners == 0).sum())]
    return slow_reader.answer_beside(model, seed, pieces[owners == 0].tolist(), pieces[own].tolist(), places[own])


def questions_of(batch):
    return [
        (seed, text, question)
        for seed, text in np.ndindex(*batch.lengths.shape)
        for question in range(int(batch.owners[seed, text].max()))
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"depth": 1}, {"layers": 0}], ids=str)
def test_answers_through_are_those_of_one_text_with_one_question(kind, options):
    model, batch = made(kind, through=True, **options), packed_batch()
    logits = ask(model, batch)
    asked = questions_of(batch)
    assert logits.shape == (2, 3, 4, 4)
    assert len(asked) == 2 * (4 + 3)
    for place in asked:
        np.testing.assert_allclose(logits[place], beside(model, batch, *place), atol=1e-6, rtol=1e-6)
    assert logits.isfinite().all()
    assert torch.stack([logits[place] for place in asked]).std() > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_does_not_hear_its_questions(kind):
    encoder, batch = made(kind).encoder, packed_batch()
    states = encoder.read_through(batch.pieces, batch.places, batch.owners, batch.lengths, EVALUATION)
    live = torch.arange(batch.pieces.shape[2]) < batch.lengths.unsqueeze(-1)
    lengths = (live & (batch.owners == 0)).sum(-1)
    longest = int(lengths.max())
    alone = encoder(batch.pieces[..., :longest], lengths, EVALUATION)
    for place in np.ndindex(2, 3):
        end = int(lengths[place])
        torch.testing.assert_close(states[place][:end], alone[place][:end], atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_through_does_not_change_with_texts_padding_and_order(kind):
    model, batch = made(kind, through=True), packed_batch()
    whole, asked = ask(model, batch), questions_of(batch)
    of_texts = (*OF_TEXTS, "owners", "places")
    for chosen in ([1], [1, 0], [2, 1, 0]):
        own = changed(batch, **{name: getattr(batch, name)[:, chosen] for name in of_texts})
        longest = int(own.lengths.max())
        of_pieces = ("pieces", "slots", "owners", "places")
        own = changed(own, **{name: getattr(own, name)[..., :longest] for name in of_pieces})
        close(ask(model, own), whole[:, chosen])
    behind = {"pieces": 7, "slots": -1, "owners": 0, "places": 3}
    longer = {
        name: torch.cat([getattr(batch, name), torch.full((2, 3, 5), value)], dim=2) for name, value in behind.items()
    }
    more = torch.cat([batch.labels, batch.labels[..., :2]], dim=2)
    close(ask(model, changed(batch, **longer, labels=more))[:, :, :4], whole)
    # The pieces of a text in another order, each with its place and owner, and its questions under other numbers.
    rng, longest = np.random.default_rng(1), batch.pieces.shape[2]
    order = [[*rng.permutation(n), *range(n, longest)] for n in batch.lengths.flatten().tolist()]
    order = torch.tensor(order).view(2, 3, longest)
    turned = torch.tensor([0, 3, 1, 4, 2])
    other = changed(
        batch,
        pieces=batch.pieces.gather(2, order),
        places=batch.places.gather(2, order),
        owners=turned[batch.owners].gather(2, order),
    )
    other = ask(model, other)
    for seed, text, question in asked:
        close(other[seed, text, turned[question + 1] - 1], whole[seed, text, question])


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_through_does_not_change_with_what_else_is_asked(kind):
    model, batch = made(kind, through=True), packed_batch()
    whole = ask(model, batch)
    first = batch.owners <= 1
    pieces = torch.where(first, batch.pieces, (batch.pieces + 9) % 60)
    other = ask(model, changed(batch, pieces=pieces))
    close(other[:, :2, 0], whole[:, :2, 0])
    assert not torch.allclose(other[:, :2, 1], whole[:, :2, 1], atol=1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_what_reads_through_learns_and_a_seed_is_the_same_alone_and_in_a_group(kind):
    """All but what asks otherwise, and MPNet's distances, which stay as they were."""
    group = make_reader(kind, seeds=(1, 2, 3), sizes=DEEP, through=True)
    alone = make_reader(kind, seeds=(2,), sizes=DEEP, through=True)
    learnt = same_alone_and_in_a_group(group, alone, packed_batch(seeds=3))
    every = {name for name, _ in group.named_parameters()}
    assert every - learnt == {
        name for name in every if name.startswith(("question", "layers.")) or name == "encoder.distances"
    }


def test_questions_without_pieces_are_not_read_through():
    with pytest.raises(ValueError, match="have no pieces"):
        make_reader(through=True).read_through(question_batch(), EVALUATION)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_of_the_last_layers_answer_as_these_do_until_they_are_changed(kind):
    batch = question_batch()
    tied, untied = (made(kind, along=2, layers=1, untied=untied) for untied in (False, True))
    own = dict(tied.named_parameters()) | untied_weights(dict(tied.named_parameters()), 3, 2)
    with torch.no_grad():
        for name, tensor in untied.named_parameters():
            tensor.copy_(own[name])
    close(ask(untied, batch), ask(tied, batch))
    torch.nn.init.zeros_(untied.encoder.layers[-1].outer)  # the questions' alone, and theirs is a copy now
    close(ask(untied, batch), ask(tied, batch))
    torch.nn.init.zeros_(untied.along[-1].outer)
    assert not torch.allclose(ask(untied, batch), ask(tied, batch), atol=1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_start_as_the_layers_they_are_of(kind):
    model = make_reader(kind, along=2, layers=0, untied=True, sizes={"layers": 3})
    expected = untied_weights(dict(model.named_parameters()), 3, 2)
    found = {name: tensor for name, tensor in model.named_parameters() if name.startswith("along.")}
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in found)
