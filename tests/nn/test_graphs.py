import pytest
import torch

from run_factory import config, small
from tabsa.nn.fast.graphs import Batch
from tabsa.training.word_training import Trainer


def test_padding_adds_words_and_nothing_else():
    own = Batch(torch.arange(1, 7).view(1, 2, 3), torch.tensor([[3, 1]]), torch.zeros(1, 2, 2, 3), None)
    padded = own.padded(8)
    assert padded.tokens.shape == (1, 2, 8)
    assert torch.equal(padded.tokens[..., :3], own.tokens)
    assert not padded.tokens[..., 3:].any()
    assert padded.lengths is own.lengths


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("optimiser", ["adam", "ftrl-tf"])
def test_updates_by_graph_are_those_without(optimiser):
    still = {"chains": 3, "input_dropout": 0.0, "output_dropout": 0.0}
    made = config(optimiser=optimiser, epochs=3, rate=0.01, model=still)
    graphed, eager = (Trainer(made, small(), (1, 2), "cuda") for _ in range(2))
    eager.graphs = None
    losses = []
    for trainer in (graphed, eager):
        losses.append([])
        list(trainer.run(lambda _, loss: losses[-1].append(loss)))
    assert 0 < len(graphed.graphs.graphs) < len(losses[0])
    torch.testing.assert_close(torch.stack(losses[0]), torch.stack(losses[1]), atol=1e-4, rtol=1e-4)
    for name, tensor in graphed.weights().items():
        torch.testing.assert_close(tensor, eager.weights()[name], atol=1e-3, rtol=1e-3)
