"""ONNX graphs as bytes: the few messages of the format that a network here needs.

ONNX files are protocol buffers, and writing them takes these lines; the library that reads
and checks them takes 30 MB. Knows nothing of what a graph computes.
"""

import struct
from collections.abc import Iterable
from itertools import chain

import numpy as np
import numpy.typing as npt

# Field numbers and type codes are those of onnx.proto.
_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7, "float16": 10}
_FLOAT, _INT = 1, 2
_IR_VERSION, _OPSET = 9, 18
_CONTRIB = "com.microsoft"


class Graph:
    """A graph under construction; each method returns the name of what it added."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._inputs: list[bytes] = []
        self._constants: dict[str, tuple[bytes, bytes]] = {}

    def constant(self, name: str, value: npt.ArrayLike) -> str:
        """A tensor; the first one of a name stays."""
        if name not in self._constants:
            array = np.asarray(value)
            dims = b"".join(_number(1, size) for size in array.shape)
            head = dims + _number(2, _TYPES[array.dtype.name]) + _text(8, name)
            data = array.tobytes()
            head += _key(9, 2) + _varint(len(data))
            head = _key(5, 2) + _varint(len(head) + len(data)) + head
            self._constants[name] = head, data
        return name

    def input(self, name: str, dtype: str, shape: Iterable[int | None]) -> str:
        """What goes in with every run; None is a side of any length."""
        self._inputs.append(_value(name, dtype, shape))
        return name

    def node(self, kind: str, inputs: Iterable[str], output: str, /, **attributes: float) -> str:
        """An operation of ONNX."""
        return self._add(kind, "", inputs, output, attributes)

    def contrib(self, kind: str, inputs: Iterable[str], output: str, /, **attributes: float) -> str:
        """An operation that onnxruntime has beyond ONNX."""
        return self._add(kind, _CONTRIB, inputs, output, attributes)

    def model(self, output: str, dimensions: int) -> bytes:
        """The file of a graph that gives floats (1, dimensions)."""
        graph = [
            *(_bytes(1, node) for node in self._nodes),
            _text(2, "unchunk"),
            *chain.from_iterable(self._constants.values()),
            *(_bytes(11, one) for one in self._inputs),
            _bytes(12, _value(output, "float32", (1, dimensions))),
        ]
        opsets = (("", _OPSET), (_CONTRIB, 1))
        # The weights are most of it, so they are copied once.
        return b"".join(
            [
                _number(1, _IR_VERSION),
                *(_bytes(8, _text(1, name) + _number(2, version)) for name, version in opsets),
                _key(7, 2) + _varint(sum(map(len, graph))),
                *graph,
            ]
        )

    def _add(
        self,
        kind: str,
        domain: str,
        inputs: Iterable[str],
        output: str,
        attributes: dict[str, float],
    ) -> str:
        parts = [_text(1, name) for name in inputs]
        parts += [_text(2, output), _text(3, output), _text(4, kind), _text(7, domain)]
        for name, value in attributes.items():
            body = (
                _number(3, value) + _number(20, _INT)
                if isinstance(value, int)
                else _key(2, 5) + struct.pack("<f", value) + _number(20, _FLOAT)
            )
            parts.append(_bytes(5, _text(1, name) + body))
        self._nodes.append(b"".join(parts))
        return output


def _value(name: str, dtype: str, shape: Iterable[int | None]) -> bytes:
    sides = (_text(2, "n") if size is None else _number(1, size) for size in shape)
    tensor = _number(1, _TYPES[dtype]) + _bytes(2, b"".join(_bytes(1, side) for side in sides))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _key(field: int, wire: int) -> bytes:
    return _varint(field << 3 | wire)


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())
