"""A small builder of ONNX graphs: operators as method calls that return the names of their results.

Written out by hand rather than traced, because the memory's scan then keeps its batch and length dynamic and does no
more than it must; see docs/architecture.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_OPSET = 18
Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = Mapping[str, Array]
Shape: TypeAlias = Sequence[int | str]
_SMALL = 16  # numbers in a constant that is looked for among those before it


class Graph:
    """A graph under construction; values are known by name."""

    def __init__(self, name: str, *, half: bool = False) -> None:
        self.name, self.half = name, half  # half: large constants are stored as float16, and widened when loaded
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.outside: list[onnx.TensorProto] = []  # constants that lie in another file
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.small: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self.count = 0

    def fresh(self, hint: str) -> str:
        """A name nobody has yet."""
        self.count += 1
        return f"{self.name}_{hint}_{self.count}"

    def input(self, name: str, shape: Shape, kind: int = TensorProto.FLOAT) -> str:
        """Declare an input."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def default(self, name: str, value: NDArray[np.float32]) -> str:
        """Declare an input that may be left out, and is then `value`."""
        self.constants.append(numpy_helper.from_array(value, name))
        return self.input(name, [f"{name}_{axis}" for axis in range(value.ndim)])

    def output(self, value: str, name: str, shape: Shape) -> None:
        """Declare that `value` is the output called `name`."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def constant(self, array: Array | Sequence[int] | float) -> str:
        """A constant: whole numbers as int64, others as float32."""
        array = np.asarray(array)
        array = array.astype(np.int64 if np.issubdtype(array.dtype, np.integer) else np.float32)
        narrow = self.half and array.dtype == np.float32 and array.size > 100
        name = self.raw(array.astype(np.float16) if narrow else array)
        return self.op("Cast", name, to=TensorProto.FLOAT) if narrow else name

    def raw(self, array: Array) -> str:
        """A constant of the array's own type; small ones that are alike are one."""
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= _SMALL else None
        if key is not None and key in self.small:
            return self.small[key]
        name = self.fresh("constant")
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        if key is not None:
            self.small[key] = name
        return name

    def stored(self, name: str, kind: int, shape: Sequence[int], *, file: str, start: int, size: int) -> str:
        """A constant that lies in a file beside the graph's, `size` bytes from `start`."""
        value = onnx.TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, entry in {"location": file, "offset": start, "length": size}.items():
            value.external_data.add(key=key, value=str(entry))
        self.outside.append(value)
        return name

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator with one result."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, results: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add an operator with several results."""
        names = [self.fresh(kind[:4].lower()) for _ in range(results)]  # short: a graph has hundreds of them
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names

    def reshape(self, value: str, *shape: int) -> str:
        """`value` in another shape; 0 keeps a dimension, -1 takes what is left."""
        return self.op("Reshape", value, self.constant(shape))

    def part(self, value: str, start: int, end: int, axis: int) -> str:
        """Entries `start` to `end` along an axis."""
        return self.op("Slice", value, *(self.constant([n]) for n in (start, end, axis)))

    def insert(self, value: str, *axes: int) -> str:
        """New dimensions of size 1."""
        return self.op("Unsqueeze", value, self.constant(axes))

    def prelu(self, value: str, slope: Array) -> str:
        """The parametric ReLU."""
        if (slope <= 1).all():
            return self.op("Max", value, self.op("Mul", value, self.constant(slope)))
        below = self.op("Mul", self.op("Min", value, self.constant(0.0)), self.constant(slope - 1))
        return self.op("Add", value, below)

    def proto(self) -> onnx.GraphProto:
        """Finish the graph."""
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)

    def model(self) -> onnx.ModelProto:
        """Finish the graph as a checked model."""
        versions = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(self.proto(), opset_imports=versions, producer_name="tabsa")
        model.ir_version = 9  # what every onnxruntime since 1.17 reads
        own = len(model.graph.input)
        # The checker would look for other files where this process happens to be: to it they are inputs.
        for value in self.outside:
            model.graph.input.append(helper.make_tensor_value_info(value.name, value.data_type, value.dims))
        onnx.checker.check_model(model, full_check=True)
        del model.graph.input[own:]
        model.graph.initializer.extend(self.outside)
        return model
