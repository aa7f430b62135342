"""Arrays of numpy, torch and jax: their bits without a copy, and results in the caller's kind."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .dtypes import DTYPES, DType, name_of_numpy, name_of_torch, values
from .errors import RunError

Array = Any  # numpy's, torch's, jax's, or whatever has __dlpack__
Bits = np.ndarray[Any, Any]
# Floats that have every number of a narrower one.
_WIDER = {"bf16": ("f32", "f64"), "f16": ("f32", "f64"), "f32": ("f64",)}


def kind_of(value: Array) -> str:
    """`numpy`, `torch`, `jax`, `dlpack`, or `python` for numbers and lists."""
    if isinstance(value, (np.ndarray, np.generic)):
        return "numpy"
    top = type(value).__module__.partition(".")[0]
    if top == "torch" or any(base.__module__.startswith("torch") for base in type(value).__mro__):
        return "torch"
    if top in ("jax", "jaxlib"):
        return "jax"
    if hasattr(value, "__dlpack__"):
        return "dlpack"
    return "python"


def type_of(value: Array) -> str:
    """MLIR's name of an array's elements, where it is of numpy, torch or jax; else empty. Reads
    nothing."""
    kind = kind_of(value)
    if kind == "torch":
        return name_of_torch(value.dtype)
    return name_of_numpy(np.dtype(value.dtype)) if kind in ("numpy", "jax") else ""


def describe(shape: tuple[int, ...], dtype: str) -> str:
    """`f32[2, 3]`."""
    return f"{dtype}{list(shape)}"


def _wrong_dtype(where: str, wanted: DType, shape: tuple[int, ...], got: str, kind: str) -> RunError:
    if kind == "torch":
        advice = f"write .to(torch.{wanted.torch})"
    elif wanted.numpy is None:
        advice = f"write .astype(ml_dtypes.{wanted.torch}), or give the bits as uint{8 * wanted.size}"
    else:
        advice = f"write .astype('{wanted.numpy.name}')"
    return RunError(f"{where}: expected {describe(shape, wanted.name)}, got elements of {got}: "
                    f"{advice}")


def _of_torch(value: Array, where: str) -> tuple[Bits, str]:
    torch = sys.modules["torch"]
    if hasattr(value, "full_tensor"):
        raise RunError(f"{where}: expected a whole tensor, got a DTensor: write .full_tensor()")
    if value.layout != torch.strided:
        raise RunError(f"{where}: expected a dense tensor, got layout {value.layout}: write "
                       ".to_dense()")
    if value.device.type == "meta":
        raise RunError(f"{where}: expected a tensor with data, got one on device meta: load its "
                       "weights first")
    if value.device.type != "cpu":
        raise RunError(f"{where}: expected a tensor in host memory, got one on device "
                       f"{value.device}: write .cpu()")
    if value.is_quantized or value.is_complex():
        raise RunError(f"{where}: tp has no elements of {value.dtype}")
    name = name_of_torch(value.dtype)
    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[value.itemsize]
    bits = value.detach().resolve_neg().view(integer)
    return np.from_dlpack(bits).view(f"u{value.itemsize}"), name


def _of_numpy(array: np.ndarray[Any, Any], where: str) -> tuple[Bits, str]:
    if array.dtype.hasobject or array.dtype.kind in "USVMmc":
        if name_of_numpy(array.dtype) not in DTYPES:
            raise RunError(f"{where}: tp has no elements of {array.dtype}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if any(stride % max(array.itemsize, 1) for stride in array.strides):
        array = np.ascontiguousarray(array)
    return array.view(f"u{array.itemsize}"), name_of_numpy(array.dtype)


def bits_of(value: Array, where: str) -> tuple[Bits, str]:
    """The bits of an array, as unsigned integers of its elements' size, and MLIR's name of its
    elements; no copy. `where` begins the message of a RunError: the array is on a device, sparse,
    or has elements that tp has not."""
    kind = kind_of(value)
    if kind == "torch":
        return _of_torch(value, where)
    if kind == "numpy":
        return _of_numpy(np.asarray(value), where)
    if kind == "jax":
        if isinstance(value, sys.modules["jax"].core.Tracer):
            raise RunError(f"{where}: expected an array, got a value that jax is tracing: call the "
                           "program outside of jax.jit, jax.grad and jax.vmap")
        platforms = {device.platform for device in value.devices()}
        if platforms != {"cpu"}:
            raise RunError(f"{where}: expected an array in host memory, got one on "
                           f"{', '.join(sorted(platforms))}: write jax.device_get(array)")
        return _of_numpy(np.asarray(value), where)
    if kind == "dlpack":
        try:
            return _of_numpy(np.from_dlpack(value), where)
        except Exception as error:
            raise RunError(f"{where}: cannot read {type(value).__name__} by DLPack: {error}"
                           ) from error
    return _of_numpy(np.asarray(value), where)


def _parts_of_complex(value: Array, kind: str, shape: tuple[int, ...], dtype: DType,
                      where: str) -> Array:
    """A complex array as programs take it, its parts in a last dimension of 2; another array as it
    is."""
    if kind == "torch":
        if not value.is_complex() or value.device.type != "cpu":
            return value
        found = str(value.dtype).removeprefix("torch.")
    else:
        if not str(getattr(value, "dtype", "")).startswith("complex"):
            return value
        found = str(value.dtype)
    wanted = f"complex{16 * dtype.size}"
    if found != wanted or tuple(value.shape) != shape[:-1]:
        raise RunError(f"{where}: expected {wanted}{list(shape[:-1])} or its parts, "
                       f"{describe(shape, dtype.name)}, got {found}{list(value.shape)}")
    if kind == "torch":
        return sys.modules["torch"].view_as_real(value.detach().resolve_conj())
    array = np.asarray(value)
    return np.stack([array.real, array.imag], -1)


def to_bits(value: Array, shape: tuple[int, ...], dtype: DType, where: str,
            advice: str = "") -> Bits:
    """The bits of an array that has to have this shape and these elements; numbers and lists are
    converted. Raises RunError, with the advice where the shape is another one."""
    kind = kind_of(value)
    if kind == "python":
        if value is None or isinstance(value, (str, bytes, dict, set)):
            raise RunError(f"{where}: expected {describe(shape, dtype.name)}, got "
                           f"{type(value).__name__}: give an array of numpy, torch or jax")
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise RunError(f"{where}: cannot make an array of the {type(value).__name__}: its rows "
                           "have different lengths, or it is no list of numbers") from error
        if dtype.numpy is not None and (array.size == 0 or np.can_cast(
                array.dtype, dtype.numpy, "same_kind")):
            value = array.astype(dtype.numpy)
        else:
            value = array
    if shape[-1:] == (2,) and dtype.name in ("f32", "f64"):
        value = _parts_of_complex(value, kind, shape, dtype, where)
    bits, name = bits_of(value, where)
    if tuple(bits.shape) != shape:
        raise RunError(f"{where}: expected {describe(shape, dtype.name)}, got "
                       f"{describe(tuple(bits.shape), name)}{advice}")
    same = name == dtype.name or (name == "i64" and dtype.name == "index")
    raw = dtype.numpy is None and name == f"u{8 * dtype.size}"
    if not same and not raw:
        raise _wrong_dtype(where, dtype, shape, name, kind)
    return bits


def is_equal(one: Bits, other: Bits) -> bool:
    """Whether both are the same bits. Those of one memory are not compared."""
    is_same = one.ctypes.data == other.ctypes.data and one.strides == other.strides
    return is_same and one.shape == other.shape or np.array_equal(one, other)


def round_bits(bits: Bits, dtype: DType, where: str) -> Bits:
    """The bits of f32 numbers rounded to f16 or bf16, to nearest even. Raises RunError where a finite
    number becomes infinite."""
    wide = bits.view(np.float32)
    if dtype.name == "f16":
        with np.errstate(over="ignore"):
            rounded = wide.astype(np.float16)
        infinite, narrow = np.isinf(rounded), rounded.view(np.uint16)
    else:
        top = (bits + (0x7fff + ((bits >> 16) & 1))) >> 16
        narrow = np.where(np.isnan(wide), (bits >> 16) | 0x40, top).astype(np.uint16)
        infinite = (narrow & 0x7fff) == 0x7f80
    large = infinite & np.isfinite(wide)
    if large.any():
        advice = ": compile with weight_storage='bf16'" if dtype.name == "f16" else ""
        raise RunError(f"{where}: {wide[large][0]:g} is too large for {dtype.name}{advice}")
    return narrow


def is_exact(dtype: DType, wide: DType) -> bool:
    """Whether every number of the first float is one of the second, a wider one."""
    return dtype.name in _WIDER and wide.name in _WIDER[dtype.name]


def widen_bits(bits: Bits, dtype: DType, wide: DType) -> Bits:
    """The bits of the same numbers in a wider float, where `is_exact`."""
    if dtype.name == "bf16":
        numbers = (bits.astype(np.uint32) << 16).view(np.float32)
    else:
        assert dtype.numpy is not None
        numbers = bits.view(dtype.numpy)
    return numbers.astype(wide.numpy).view(wide.bits)


def from_bits(bits: Bits, dtype: DType, kind: str) -> Array:
    """The array of bits in the caller's kind, no copy."""
    if kind == "torch":
        import torch
        integer = torch.from_numpy(bits.view(f"i{dtype.size}" if dtype.size > 1 else "u1"))
        return integer.view(getattr(torch, dtype.torch))
    if kind == "jax":
        import jax
        array = values(bits, dtype)
        wide = jax.dtypes.canonicalize_dtype(array.dtype)
        # Without jax_enable_x64, jax has no 64-bit elements: such results stay numpy's.
        return jax.numpy.asarray(array) if wide == array.dtype else array
    return values(bits, dtype)
