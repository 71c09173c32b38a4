"""LSTM-Loc (Saeidi et al., 2016): LSTM-Final, but the states at the target's mentions answer."""

from torch import Tensor

from tabsa.models.lstm.final import LSTMFinal
from tabsa.nn.attention import mean_over
from tabsa.nn.lstm import LSTMStates
from tabsa.nn.targets import mentions_or_all


class LSTMLoc(LSTMFinal):
    """The mean of the states at the target's mentions; of all states where a sentence does not mention it.

    The state at a mention depends on the target by itself, so one reading a sentence could do. The authors mask the
    target and other locations by different tokens here too, and so does this: one reading a target.
    """

    def summary(self, read: LSTMStates, where: Tensor, live: Tensor) -> Tensor:
        """The mean state over the target's mentions: (S, B x K, 2 units)."""
        places = mentions_or_all(where, live).flatten(1, 2).unsqueeze(2)  # (S, B x K, 1, T)
        return mean_over(read.states, places).squeeze(2)
