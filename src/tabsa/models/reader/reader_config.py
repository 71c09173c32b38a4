"""The reader's choices."""

from dataclasses import dataclass
from typing import Literal

from tabsa.config import option


@dataclass(frozen=True, kw_only=True)
class ReaderConfig:
    """What reads the text, and what answers from its states."""

    encoder: str = option("", "a BERT or MPNet folder, below a data folder or anywhere, or its name on the hub")
    depth: int = option(0, "layers of the encoder that are kept, from the first; 0: all", low=0)
    along: int = option(0, "the encoder's last layers that questions go through, hearing the text", low=0)
    untied: bool = option(False, "fine-tuned: questions have copies of the layers they go `along`, in float")
    through: bool = option(False, "read each question's words beside the text, which does not hear them: for teachers")
    layers: int = option(2, "of cross-attention, from a question to the text", low=0)
    inner: int = option(2, "size of a question layer's feed-forward part, as a multiple of a state's", low=1)
    rounded: bool = option(False, "quantisation-aware: learn with the weights as the folder keeps them in int8")
    dropout: float = option(0.1, "on the states of the encoder and of the question layers", low=0, high=0.95)


@dataclass(frozen=True, kw_only=True)
class ContextualEntNetConfig(ReaderConfig):
    """The same with the paper's memory in place of the cross-attention."""

    chains: int = option(4, "free chains of the memory, besides the one tied to the question's target", low=0)
    size: int = option(192, "dimensions of the memory", low=1)
    directions: Literal["both", "forward"] = option("both", "how a text is read")
