"""Element types: MLIR's names, and what numpy and torch call them."""
from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DType:
    """An element type. `bits` is the numpy type that holds the same bytes, `numpy` the type of its
    values; it is None where numpy itself has none (bf16, f8)."""
    name: str
    bits: np.dtype[Any]
    numpy: np.dtype[Any] | None
    torch: str

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return self.bits.itemsize


def _row(name: str, numpy: str | None, torch: str, size: int = 0) -> DType:
    size = size or np.dtype(numpy).itemsize
    return DType(name, np.dtype(f"u{size}"), np.dtype(numpy) if numpy else None, torch)


DTYPES = {row.name: row for row in (
    _row("f64", "f8", "float64"), _row("f32", "f4", "float32"), _row("f16", "f2", "float16"),
    _row("bf16", None, "bfloat16", 2),
    _row("i64", "i8", "int64"), _row("i32", "i4", "int32"), _row("i16", "i2", "int16"),
    _row("i8", "i1", "int8"), _row("i1", "?", "bool"), _row("index", "i8", "int64"),
    _row("f8E4M3FN", None, "float8_e4m3fn", 1), _row("f8E5M2", None, "float8_e5m2", 1),
    _row("f8E4M3FNUZ", None, "float8_e4m3fnuz", 1), _row("f8E5M2FNUZ", None, "float8_e5m2fnuz", 1),
    _row("u64", "u8", "uint64"), _row("u32", "u4", "uint32"), _row("u16", "u2", "uint16"),
    _row("u8", "u1", "uint8"))}

# As ml_dtypes spells them, which jax and safetensors for numpy use.
_ML_DTYPES = {"bfloat16": "bf16", "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2",
              "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2fnuz": "f8E5M2FNUZ"}
_OF_NUMPY = {row.numpy: row.name for row in DTYPES.values()
             if row.numpy is not None and row.name != "index"}
_OF_TORCH = {row.torch: row.name for row in DTYPES.values() if row.name != "index"}


def name_of_numpy(dtype: np.dtype[Any]) -> str:
    """MLIR's name of numpy's type, or numpy's own where MLIR has none (`object`, `<U3`)."""
    if dtype.name in _ML_DTYPES:
        return _ML_DTYPES[dtype.name]
    return _OF_NUMPY.get(dtype.newbyteorder("="), str(dtype))


def name_of_torch(dtype: object) -> str:
    """The same of a `torch.dtype`."""
    name = str(dtype).removeprefix("torch.")
    return _OF_TORCH.get(name, name)


def values(bits: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """The array of bits as one of numbers, no copy: bf16 and f8 as ml_dtypes' types where that
    package is there, else as unsigned integers."""
    if dtype.numpy is not None:
        return bits.view(dtype.numpy)
    try:
        ml_dtypes = importlib.import_module("ml_dtypes")
    except ImportError:
        return bits
    return bits.view(np.dtype(getattr(ml_dtypes, dtype.torch)))
