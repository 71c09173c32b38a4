"""The operators that each family's graphs are built of: a graph with any other is not ours, and is not run.

Scan takes one step for each entry of what it reads, so it ends; Loop and If are in no family.
"""

from typing import Final

_OWN: Final = "com.microsoft:"  # onnxruntime's own operators
_COMMON: Final = frozenset(
    {"Cast", "Identity", "Range", "Reshape", "Shape", "Squeeze", "Transpose", "Unsqueeze"}
    | {"Add", "Less", "MatMul", "Max", "Mul", "Softmax", "Tanh", "Where"}
)
_ROUNDED: Final = frozenset({"Abs", "Div", "QuantizeLinear", "ReduceMax", f"{_OWN}MatMulIntegerToFloat"})

LSTM: Final = _COMMON | {"And", "Div", "Equal", "GreaterOrEqual", "LSTM", "Or", "ReduceSum"}
SENTIC: Final = (
    (_COMMON - {"Max", "Reshape"})
    | {"And", "Equal", "GreaterOrEqual", "Or", "ReduceSum"}
    | {"Concat", "Expand", "Gather", "ReverseSequence", "Scan", "Sigmoid", "Slice"}
)
ENTNET: Final = (
    _COMMON
    | _ROUNDED
    | {"And", "Concat", "Expand", "Gemm", "Greater", "Min", "ReduceMean", "ReduceSum", "ReverseSequence", "Scan"}
    | {"Sigmoid", "Sqrt", "Sub"}
)
ENTNET_BEFORE: Final = frozenset({"Equal", "Slice"})  # of the first graphs, which older folders have
READER: Final = (
    _COMMON
    | _ROUNDED
    | {"Concat", "Expand", "Gather", "Gemm", "LayerNormalization", "ReduceMean", "Round", "Slice", "Sub", "Sum"}
    | {f"{_OWN}FusedMatMul", f"{_OWN}Gelu"}
)
