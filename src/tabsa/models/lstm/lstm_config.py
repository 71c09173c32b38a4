"""The choices of the LSTM baselines."""

from dataclasses import dataclass

from tabsa.config import option


@dataclass(frozen=True, kw_only=True)
class LSTMConfig:
    """The choices of LSTM-Final and LSTM-Loc; the authors' paper gives no sizes."""

    units: int = option(50, "of the LSTM, a direction", low=1)
    input_dropout: float = option(0.2, "on the words, one mask for all steps", low=0, high=0.95)
    output_dropout: float = option(0.2, "on the states, before the softmax", low=0, high=0.95)


@dataclass(frozen=True, kw_only=True)
class LSTMTASAConfig:
    """The choices of LSTM+TA+SA, at the authors' values."""

    units: int = option(50, "of the LSTM, a direction", low=1)
    attention: int = option(50, "units of the sentence attention", low=1)
    input_dropout: float = option(0.1, "on the words, one mask for all steps", low=0, high=0.95)
    output_dropout: float = option(0.1, "on the LSTM's states, one mask for all steps", low=0, high=0.95)


@dataclass(frozen=True, kw_only=True)
class SenticLSTMConfig(LSTMTASAConfig):
    """The same, and those of the concepts.

    The authors' concept vectors were never released, so a result depends on `concepts`: name it beside the figures.
    """

    concepts: str = option("", "a table of concepts, below a data folder or anywhere; empty: the package's lexicon")
