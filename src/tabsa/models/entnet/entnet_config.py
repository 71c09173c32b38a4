"""The choices of EntNet and Delayed EntNet."""

from dataclasses import dataclass
from typing import Literal

from tabsa.config import option


@dataclass(frozen=True, kw_only=True)
class EntNetConfig:
    """The choices the paper names, at the paper's values, with a delay or without."""

    chains: int = option(6, "memory chains, tied and free", low=1)
    keys: Literal["hybrid", "tied", "free"] = option(
        "hybrid", "tied: a chain a target token; free: trained; hybrid: both"
    )
    directions: Literal["both", "forward"] = option("both", "how a sentence is read")
    attention: Literal["target-aspect", "target"] = option("target-aspect", "what chooses among the chains")
    normalise: bool = option(True, "divide each memory by its norm after an update")
    input_dropout: float = option(0.2, "on the words, one mask for all steps", low=0, high=0.95)
    output_dropout: float = option(0.2, "on the final hidden layer", low=0, high=0.95)
    l2: float = option(0.001, "weight of the penalty on R", low=0)
    l2_form: Literal["norm", "squared"] = option(
        "squared", "norm: ||R||, the paper's words; squared: ||R||^2 / 2, the authors' code"
    )
    prelu: float = option(1.0, "the PReLU slope at the start")
    share_prelu: bool = option(False, "one slope for both directions and the final layer, as in the authors' code")
    candidate_bias: bool = option(False, "a bias in the candidate memory, as in the authors' code")
    # Paper: has no such term. Without it the model says nearly the same of two targets in one sentence.
    mention_term: bool = option(False, "a fourth gate term: whose mention a word stands after and before")
    # Paper: 1. Below it the softmax does not harden on the aspect before it has learnt to hear the target.
    attention_scale: float = option(1.0, "what the attention's scores are multiplied by", low=0)
