"""The systems, by name: what each is, what it can do, and where its parts are.

A family brings its configuration, its network, its graph and what runs it, and says here what it can do. Nobody else
compares names. Networks and graphs need PyTorch and onnx, so they are named here and imported when asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tabsa.checkpoint.model_folder import ModelFolder, Precision
from tabsa.config import nearest
from tabsa.encoding.answers import Engine
from tabsa.errors import ModelError
from tabsa.models.entnet.entnet_config import DelayedEntNetConfig, EntNetConfig
from tabsa.models.linear.linear_features import LRConfig
from tabsa.models.lstm.lstm_config import LSTMConfig, LSTMTASAConfig, SenticLSTMConfig
from tabsa.models.onnx import operators
from tabsa.models.reader.reader_config import ContextualEntNetConfig, ReaderConfig

if TYPE_CHECKING:
    from tabsa.models.base import ModelClass

_ONNX_ENGINE: Final = "tabsa.models.onnx.word_engine:OnnxEngine"


@dataclass(frozen=True, kw_only=True)
class System:
    """A system this package has: what it is, whose it is, and what it can do.

    Parts are written as `module:name`; an empty one is not there.
    """

    name: str
    about: str
    paper: str
    needs: tuple[str, ...]  # besides the package itself
    config_class: type[Any]
    network: str = ""  # a subclass of `models.base.Model`; without one it is fitted by scikit-learn
    graph: str = ""  # makes the ONNX graph of a model folder
    operators: frozenset[str] = frozenset()  # all that its graphs are built of
    engine: str = _ONNX_ENGINE  # runs a model folder
    concepts: bool = False  # whether it reads a table of concepts besides the words
    gates: bool = False  # whether its memory has gates to look at
    int8: bool = False  # whether its graph can be made in int8
    open_aspects: bool = False  # whether an aspect may be any words, or one it was trained for

    @property
    def neural(self) -> bool:
        """Whether the training loop trains it."""
        return bool(self.network)

    def network_class(self) -> "ModelClass":
        """The network's class; needs PyTorch."""
        network: ModelClass = _part(self.network)
        return network

    def build_graph(self, folder: ModelFolder, precision: Precision) -> Any:
        """A model folder of this system as an `onnx.ModelProto`; needs onnx."""
        return _part(self.graph)(folder, precision)

    def make_engine(self, folder: ModelFolder, threads: int, precision: Precision) -> Engine:
        """What runs a model folder of this system."""
        make: Callable[[ModelFolder, int, Precision], Engine] = _part(self.engine)
        return make(folder, threads, precision)


def _part(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


_SAEIDI, _MA, _LIU = "Saeidi et al. (2016)", "Ma et al. (2018)", "Liu, Cohn and Baldwin (2018)"
_PYTORCH: Final = "PyTorch"
_OURS: Final = "this project"
_READER_ENGINE: Final = "tabsa.models.reader.reader_engine:ReaderEngine"
_ALL: Final = (
    System(
        name="lr",
        about="logistic regression on word and part-of-speech n-grams, one model an aspect",
        paper=_SAEIDI,
        needs=("SciPy", "POS tagger"),
        config_class=LRConfig,
        engine="tabsa.models.linear.linear_model:LinearEngine",
    ),
    System(
        name="lstm-final",
        about="bi-directional LSTM, its final states; one reading a target",
        paper=_SAEIDI,
        needs=(_PYTORCH,),
        config_class=LSTMConfig,
        network="tabsa.models.lstm.lstm_networks:LSTMFinal",
        graph="tabsa.models.lstm.lstm_onnx:graph",
        operators=operators.LSTM,
    ),
    System(
        name="lstm-loc",
        about="bi-directional LSTM, its states at the target's mentions; one reading a target",
        paper=_SAEIDI,
        needs=(_PYTORCH,),
        config_class=LSTMConfig,
        network="tabsa.models.lstm.lstm_networks:LSTMLoc",
        graph="tabsa.models.lstm.lstm_onnx:graph",
        operators=operators.LSTM,
    ),
    System(
        name="lstm-ta-sa",
        about="bi-directional LSTM with attention from the target, then from target and aspect",
        paper=_MA,
        needs=(_PYTORCH,),
        config_class=LSTMTASAConfig,
        network="tabsa.models.lstm.lstm_networks:LSTMTASA",
        graph="tabsa.models.lstm.lstm_onnx:graph",
        operators=operators.LSTM,
    ),
    System(
        name="sentic-lstm",
        about="the same over an LSTM whose gates hear a concept vector at each word",
        paper=_MA,
        needs=(_PYTORCH, "concepts"),
        config_class=SenticLSTMConfig,
        network="tabsa.models.lstm.lstm_networks:SenticLSTM",
        graph="tabsa.models.lstm.lstm_onnx:graph",
        operators=operators.SENTIC,
        concepts=True,
    ),
    System(
        name="entnet",
        about="recurrent entity network: memory chains with gated updates",
        paper="Henaff et al. (2017)",
        needs=(_PYTORCH,),
        config_class=EntNetConfig,
        network="tabsa.models.entnet.entnet_network:EntNet",
        graph="tabsa.models.entnet.entnet_onnx:graph",
        operators=operators.ENTNET | operators.ENTNET_BEFORE,
        gates=True,
        int8=True,
    ),
    System(
        name="delayed-entnet",
        about="recurrent entity network with delayed memory update",
        paper=_LIU,
        needs=(_PYTORCH,),
        config_class=DelayedEntNetConfig,
        network="tabsa.models.entnet.entnet_network:DelayedEntNet",
        graph="tabsa.models.entnet.entnet_onnx:graph",
        operators=operators.ENTNET | operators.ENTNET_BEFORE,
        gates=True,
        int8=True,
    ),
    *(
        System(
            name=name,
            about=about,
            paper=_OURS,
            needs=(_PYTORCH, "an encoder"),
            config_class=ReaderConfig,
            network="tabsa.models.reader.reader_network:Reader",
            graph="tabsa.models.reader.reader_onnx:graph",
            operators=operators.READER,
            engine=_READER_ENGINE,
            int8=True,
            open_aspects=True,
        )
        for name, about in (
            ("reader", "a small contextual encoder with question layers: any aspects, in the user's words"),
            ("reader-large", "the same with a large encoder, for the tables and as a teacher"),
        )
    ),
    System(
        name="delayed-entnet-contextual",
        about="the paper's delayed memory over an encoder's states, in place of the question layers",
        paper=_LIU,
        needs=(_PYTORCH, "an encoder"),
        config_class=ContextualEntNetConfig,
        network="tabsa.models.reader.contextual:ContextualEntNet",
        engine="",
        open_aspects=True,
    ),
)
SYSTEMS: Final[dict[str, System]] = {system.name: system for system in _ALL}


def system_of(folder: ModelFolder) -> System:
    """The system whose model a folder holds."""
    kind = folder.config.kind
    if kind not in SYSTEMS:
        raise ModelError(f"{folder.path} holds a '{kind}', which is no system of this version{nearest(kind, SYSTEMS)}")
    return SYSTEMS[kind]
