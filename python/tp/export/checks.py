"""What cannot be exported, found before anything is traced."""
from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..errors import ExportError


def check_call(module: Any, args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments as a tuple. Raises ExportError where the module or a tensor of the call cannot
    be exported."""
    if not isinstance(module, torch.nn.Module):
        hint = f": write tp.export({module.__name__}(), args)" if isinstance(module, type) else (
            ": write a torch.nn.Module whose forward calls it; tp.export_jax is for a function of JAX"
            if callable(module) else "")
        raise ExportError(f"expected a torch.nn.Module, got {_article(module)}{hint}")
    if isinstance(module, torch.jit.ScriptModule):
        raise ExportError("expected a torch.nn.Module, got a ScriptModule: export the module that "
                          "it was made from")
    if isinstance(args, torch.Tensor) or not isinstance(args, Sequence) or isinstance(args, str):
        raise ExportError("args: expected a tuple of the module's arguments, got "
                          f"{_article(args)}: write tp.export(module, (x,))")
    for name in kwargs:
        if not isinstance(name, str):
            raise ExportError(f"kwargs: expected names as keys, got {name!r}")
    try:
        inspect.signature(module.forward).bind(*args, **kwargs)
    except TypeError as error:
        raise ExportError(f"{type(module).__name__}.forward cannot be called with these "
                          f"arguments: {error}") from error
    _check_state(module)
    leaves = check_tensors((tuple(args), dict(kwargs)))
    # Without any argument the module makes its results itself: torch.randn(8, 6).
    if leaves and not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise ExportError("the call has no tensor: numbers and strings are fixed to their values, "
                          "so the program would have no input: pass torch.tensor(x)")
    return tuple(args)


def distinct(tree: Any) -> Any:
    """The arguments of a call, with a copy of each tensor that was there before: torch takes equal
    objects for one argument, whatever a call of the program gives."""
    tensors = [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
    if len({id(tensor) for tensor in tensors}) == len(tensors):
        return tree
    seen: set[int] = set()

    def own(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or id(leaf) not in seen:
            seen.add(id(leaf))
            return leaf
        return leaf.detach().clone().requires_grad_(leaf.requires_grad)
    return pytree.tree_map(own, tree)


def check_tensors(tree: Any) -> list[Any]:
    """The leaves of a call's arguments. Raises ExportError for an array that is no torch tensor,
    and for a tensor that cannot be exported."""
    leaves: list[Any] = pytree.tree_leaves(tree)
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            _check_tensor(leaf, "an input", "pass it with .cpu()")
        elif type(leaf).__module__.split(".")[0] in ("numpy", "jax", "jaxlib") and hasattr(
                leaf, "__array__"):
            raise ExportError(f"expected torch tensors as arguments, got {_article(leaf)}: write "
                              "torch.from_numpy(x)")
    return leaves


def _check_state(module: torch.nn.Module) -> None:
    for name, tensor in module.named_parameters(remove_duplicate=False):
        _check_tensor(tensor, f"parameter '{name}'", "write module.cpu()", name)
    for name, tensor in module.named_buffers(remove_duplicate=False):
        _check_tensor(tensor, f"buffer '{name}'", "write module.cpu()", name)


def _check_tensor(tensor: torch.Tensor, what: str, cpu: str, name: str = "") -> None:
    owner = name.rpartition(".")[0] if name else None
    if torch.nn.parameter.is_lazy(tensor):
        raise ExportError(f"{what} has no shape yet: call the module once before", module=owner)
    if type(tensor).__name__ == "DTensor":
        raise ExportError(f"{what} is distributed: export the module before parallelize_module; "
                          "tp's plan takes its place", module=owner)
    if tensor.is_quantized:
        raise ExportError(f"{what} is quantized ({tensor.dtype}): export the module in float "
                          "types", module=owner)
    if tensor.layout != torch.strided:
        raise ExportError(f"{what} is sparse ({tensor.layout}): write tensor.to_dense()",
                          module=owner)
    if tensor.is_nested:
        raise ExportError(f"{what} is a nested tensor: pad it to one shape", module=owner)
    if tensor.device.type == "meta":
        raise ExportError(f"{what} is on device meta and has no values: load the weights first",
                          module=owner)
    if tensor.device.type != "cpu":
        raise ExportError(f"{what} is on device {tensor.device}, expected cpu: {cpu}",
                          module=owner)
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        raise ExportError(f"{what} is a {type(tensor).__name__}, expected a plain torch.Tensor: "
                          "export the module in float types", module=owner)


def _article(value: Any) -> str:
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    if isinstance(value, type):
        return f"the class {name}"
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
