"""A program that returns its argument, for every element type and array library there is."""
from __future__ import annotations

import importlib.util
import os
import tempfile

import numpy as np
import tp
from tp.dtypes import DTYPES

SHAPE = (4, 6)
PLAN = {"argument x": tp.Shard(1), "result 0": tp.Shard(0)}


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def copying(name: str, shape: tuple[int, int] = SHAPE) -> tp.Program:
    """f(x) = x on two ranks, which hold columns of the argument and rows of the result."""
    element = {"i1": "i1", "index": "index"}.get(name, name.replace("u", "ui") if name[0] == "u"
                                                  else name)
    kind = f"tensor<{shape[0]}x{shape[1]}x{element}>"
    text = f"""func.func @main(%x: {kind} {{tp.name = "x", tp.kind = "user_input"}}) -> {kind} {{
  return %x : {kind}
}}
"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "copy.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return tp.compile(path, plan=PLAN, mesh={"tp": 2})


def numbers(name: str) -> np.ndarray:
    dtype = DTYPES[name]
    if name == "i1":
        return np.arange(24).reshape(SHAPE) % 3 == 0
    bits = np.arange(24, dtype=dtype.bits).reshape(SHAPE)
    return bits if dtype.numpy is None else bits.astype(dtype.numpy)


def check_numpy(name: str, program: tp.Program) -> None:
    x = numbers(name)
    for given in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1][::-1]):
        result = program(given)
        assert result.dtype.itemsize == x.dtype.itemsize and result.shape == SHAPE
        np.testing.assert_array_equal(result.view(DTYPES[name].bits), x.view(DTYPES[name].bits))
    wide = np.broadcast_to(x[0], SHAPE)
    np.testing.assert_array_equal(program(wide).view(DTYPES[name].bits), wide.view(DTYPES[name].bits))
    if x.dtype.itemsize > 1 and DTYPES[name].numpy is not None:
        swapped = x.astype(x.dtype.newbyteorder())
        np.testing.assert_array_equal(program(swapped), x)


def check_torch(name: str, program: tp.Program) -> None:
    import torch
    bits = numbers(name).view(DTYPES[name].bits)
    integer = {1: "u1", 2: "i2", 4: "i4", 8: "i8"}[DTYPES[name].size]
    x = torch.from_numpy(bits.view(integer)).view(getattr(torch, DTYPES[name].torch))
    for given in (x, x.t().contiguous().t(), x.repeat_interleave(2, 1)[:, ::2]):
        result = program(given)
        assert result.dtype == x.dtype and isinstance(result, torch.Tensor)
        same = torch.from_numpy(bits.view(integer))
        assert torch.equal(result.view(same.dtype), same), name
    if name == "f32":
        leaf = x.clone().requires_grad_()
        assert not program(leaf).requires_grad
        assert torch.equal(program(torch.nn.Parameter(x)), x)


def check_jax(program: tp.Program) -> None:
    import jax
    x = jax.numpy.arange(24, dtype="float32").reshape(SHAPE)
    result = program(x)
    assert isinstance(result, jax.Array) and (result == x).all()


def check_complex() -> None:
    """A complex array is given as it is, or as its parts."""
    for name in ("f32", "f64"):
        program = copying(name, (4, 2))
        parts = numbers(name)[:, :2] - 5
        x = parts[:, 0] + 1j * parts[:, 1]
        for given in (x, np.repeat(x, 2)[::2], parts):
            np.testing.assert_array_equal(program(given), parts)
        if has("torch"):
            import torch
            y = torch.from_numpy(x)
            assert torch.equal(program(y), torch.from_numpy(parts.copy()))
            assert torch.equal(program(y.conj()), torch.view_as_real(y.conj().resolve_conj()))
        for wrong in (x[:3], x.astype("c16" if name == "f32" else "c8")):
            try:
                program(wrong)
            except tp.RunError as error:
                assert "or its parts" in str(error), error
            else:
                raise AssertionError("no error")


for element in DTYPES:
    copy = copying(element)
    check_numpy(element, copy)
    if has("torch"):
        check_torch(element, copy)
print(f"numpy: {len(DTYPES)} element types")
check_complex()
single = copying("f32")
if has("jax"):
    check_jax(single)
# Numbers and lists become arrays of the input's type.
np.testing.assert_array_equal(single([[1] * 6] * 4), np.ones(SHAPE, np.float32))
