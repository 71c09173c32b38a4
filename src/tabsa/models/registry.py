"""The systems, by name: what each is, what it can do, and where its parts are.

A family brings its configuration, its network, its graph and what runs it, and says here what it can do. Nobody else
compares names. Parts are named here and imported when they are needed: networks need PyTorch, and graphs onnx.
"""

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final

from tabsa.checkpoint.model_folder import ModelFolder, Precision
from tabsa.config import build
from tabsa.encoding.answers import Engine
from tabsa.errors import ConfigError, ModelError, nearest

_SAEIDI, _MA, _LIU = "Saeidi et al. (2016)", "Ma et al. (2018)", "Liu, Cohn and Baldwin (2018)"
_PYTORCH: Final = "PyTorch"


@dataclass(frozen=True, kw_only=True)
class System:
    """A system: what it is, whose it is, and what it can do; a part is `module:name`, an empty one is not there."""

    name: str
    about: str
    paper: str
    config: str
    network: str = ""  # a subclass of `models.base.Network`; without one it is fitted by scikit-learn
    graph: str = ""  # builds the ONNX graph of a model folder; without one PyTorch runs the network
    engine: str = "tabsa.models.onnx.word_engine:WordEngine"  # runs a model folder
    concepts: bool = False  # whether it reads a table of concepts besides the words
    gates: bool = False  # whether its memory has gates to look at
    open_aspects: bool = False  # whether an aspect may be any words, or one it was trained for
    needs: tuple[str, ...] = (_PYTORCH,)  # besides the package itself

    @property
    def neural(self) -> bool:
        """True where the training loop trains it."""
        return bool(self.network)

    @property
    def config_class(self) -> type[Any]:
        """The class of its options."""
        return _part(self.config)

    def read_options(self, folder: ModelFolder) -> Any:
        """Read the options of a model folder, an instance of `config_class`."""
        others = ("shape", "cross_encode")  # an encoder's sizes, and what was an option of readers: false in folders
        options = {name: value for name, value in folder.config.model.items() if name not in others}
        try:
            return build(self.config_class, options, "model.")
        except ConfigError as e:
            raise ModelError(f"{folder.path / 'config.json'}: {e}") from e

    def network_class(self) -> type[Any]:
        """Import the network's class; needs PyTorch."""
        return _part(self.network)

    def build_graph(self, folder: ModelFolder, precision: Precision, *, half: bool) -> Any:
        """Build an `onnx.ModelProto` of a model folder, its constants in float16 if `half`; needs onnx."""
        return _part(self.graph)(folder, precision, half=half)

    def make_engine(self, folder: ModelFolder, threads: int, precision: Precision) -> Engine:
        """Make what runs a model folder of this system."""
        engine: Engine = _part(self.engine)(folder, threads, precision)
        return engine


def _part(name: str) -> type[Any]:
    module, _, attribute = name.partition(":")
    part: type[Any] = getattr(import_module(module), attribute)
    return part


_LSTM: Final = System(
    name="lstm-final",
    about="bi-directional LSTM, its final states; one reading a target",
    paper=_SAEIDI,
    config="tabsa.models.lstm.lstm_config:LSTMConfig",
    network="tabsa.models.lstm.lstm_networks:LSTMFinal",
)
_ENTNET: Final = System(
    name="entnet",
    about="recurrent entity network: memory chains with gated updates",
    paper="Henaff et al. (2017)",
    config="tabsa.models.entnet.entnet_config:EntNetConfig",
    network="tabsa.models.entnet.entnet_network:EntNet",
    graph="tabsa.models.entnet.entnet_onnx:graph",
    gates=True,
)
_READER: Final = System(
    name="reader",
    about="a small contextual encoder with question layers: any aspects, in the user's words",
    paper="this project",
    needs=(_PYTORCH, "an encoder"),
    config="tabsa.models.reader.reader_config:ReaderConfig",
    network="tabsa.models.reader.reader_network:Reader",
    graph="tabsa.models.reader.reader_onnx:graph",
    engine="tabsa.models.reader.reader_engine:ReaderEngine",
    open_aspects=True,
)
_ALL: Final = (
    System(
        name="lr",
        about="logistic regression on word and part-of-speech n-grams, one model an aspect",
        paper=_SAEIDI,
        needs=("scikit-learn", "POS tagger"),
        config="tabsa.models.linear.linear_features:LRConfig",
        engine="tabsa.models.linear.linear_model:LinearEngine",
    ),
    _LSTM,
    replace(
        _LSTM,
        name="lstm-loc",
        about="bi-directional LSTM, its states at the target's mentions; one reading a target",
        network="tabsa.models.lstm.lstm_networks:LSTMLoc",
    ),
    replace(
        _LSTM,
        name="lstm-ta-sa",
        about="bi-directional LSTM with attention from the target, then from target and aspect",
        paper=_MA,
        config="tabsa.models.lstm.lstm_config:LSTMTASAConfig",
        network="tabsa.models.lstm.lstm_networks:LSTMTASA",
    ),
    replace(
        _LSTM,
        name="sentic-lstm",
        about="the same over an LSTM whose gates hear a concept vector at each word",
        paper=_MA,
        needs=(_PYTORCH, "concepts"),
        config="tabsa.models.lstm.lstm_config:SenticLSTMConfig",
        network="tabsa.models.lstm.lstm_networks:SenticLSTM",
        concepts=True,
    ),
    _ENTNET,
    replace(
        _ENTNET,
        name="delayed-entnet",
        about="recurrent entity network with delayed memory update",
        paper=_LIU,
        network="tabsa.models.entnet.entnet_network:DelayedEntNet",
    ),
    _READER,
    replace(_READER, name="reader-large", about="the same with a large encoder, for the tables and as a teacher"),
)
SYSTEMS: Final[dict[str, System]] = {system.name: system for system in _ALL}


def system_of(folder: ModelFolder) -> System:
    """Return the system whose model a folder holds."""
    kind = folder.config.kind
    if kind not in SYSTEMS:
        raise ModelError(f"{folder.path} holds a '{kind}', which is no system of this version{nearest(kind, SYSTEMS)}")
    if SYSTEMS[kind].concepts and folder.concepts is None:
        raise ModelError(f"{folder.path} has no concepts.safetensors, without which a {kind} cannot read")
    return SYSTEMS[kind]
