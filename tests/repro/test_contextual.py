"""The paper's memory over an encoder's states, against a slow loop over its equations."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

import slow_reader
from reader_factory import make_reader, moved, question_batch
from tabsa.models.registry import SYSTEMS
from tabsa.nn.context import EVALUATION


@pytest.fixture(scope="module")
def contextual():
    """The module beside the readers' configurations; what it makes known is forgotten again."""
    known, path = dict(SYSTEMS), str(Path(__file__).parents[2] / "repro" / "reader")
    sys.path.insert(0, path)
    import contextual as module

    yield module
    sys.path.remove(path)
    SYSTEMS.clear()
    SYSTEMS.update(known)


@pytest.mark.parametrize("options", [{}, {"kind": "mpnet", "directions": "forward"}, {"chains": 0}], ids=str)
def test_answers_are_those_of_the_equations(contextual, options):
    system = SYSTEMS["delayed-entnet-contextual"]
    parts = {"network": system.network_class(), "config": system.config_class}
    model = moved(make_reader(**parts, **{"size": 10, "chains": 2} | options)).float()  # as the memory computes
    batch = question_batch(slots=6)
    logits = model(batch, context=EVALUATION).logits.detach()
    for seed, text, question in itertools.product(range(2), range(4), range(5)):
        expected = slow_reader.answer(model, batch, seed, text, question)
        np.testing.assert_allclose(logits[seed, text, question], expected, atol=2e-4, rtol=1e-4)
    assert logits.std() > 0.1
