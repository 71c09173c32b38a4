import pytest
import torch

from tabsa.nn.context import EVALUATION, Context, dropout


def test_training_without_generators_is_refused_and_does_not_mean_no_dropout():
    with pytest.raises(ValueError, match="one generator a seed"):
        Context(training=True)


def test_outside_training_nothing_is_dropped():
    x = torch.ones(1, 3)
    assert dropout(x, 0.9, EVALUATION, shape=(3,)) is x
    assert dropout(x, 0.9, Context(generators=[torch.Generator()]), shape=(3,)) is x
    dropped = dropout(x, 0.9, Context(training=True, generators=[torch.Generator().manual_seed(1)]), shape=(3,))
    assert not dropped.all()


def test_bf16_is_a_gpus():
    half = Context(products=torch.bfloat16)
    with pytest.raises(ValueError, match="are a GPU's"):
        half.check(torch.device("cpu"))
    half.check(torch.device("cuda"))
    EVALUATION.check(torch.device("cpu"))
