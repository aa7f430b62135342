"""Which modules torch's activation checkpointing computes again.

`torch.utils.checkpoint.checkpoint` keeps what a function is called with, and runs the function a
second time in the backward pass. A traced graph has its forward pass once; the model file names the
modules instead, and tp-recompute computes them again.
"""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.utils import checkpoint as torch_checkpoint

from ..errors import ExportWarning

# What torch.utils.checkpoint.checkpoint calls for use_reentrant=False, by version of torch, and for
# use_reentrant=True.
_GENERATORS = ("_checkpoint_without_reentrant_generator_impl",
               "_checkpoint_without_reentrant_generator")
_REENTRANT = "CheckpointFunction"

_CUT = ("nothing in it has a gradient, as in torch, since no argument requires one: write "
        "use_reentrant=False")


@dataclass
class _Call:
    """A call of a module. `regions`: how many checkpoints it holds itself; `outside`: whether it
    calls modules outside of them."""
    path: str
    regions: int = 0
    outside: bool = False


@dataclass
class _Region:
    """A run of a function under a checkpoint, in the call `caller`. `is_cut`: no gradient flows
    through it; `modules`: what it calls, but for modules inside of these; `own_ops`: whether it
    computes in none of them."""
    function: str
    caller: _Call
    is_cut: bool
    modules: list[str] = field(default_factory=list)
    own_ops: bool = False


class Checkpoints:
    """The checkpoints of one trace."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        # What a loss function computes is in no module.
        self._calls = [_Call("", outside=True)]
        self._regions: list[_Region] = []
        self._open: _Region | None = None
        # How deep the call of a module is in which the open region calls it.
        self._depth = 0
        self._seen = 0

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Functions run once under checkpoints inside of the context, and are recorded."""
        handles = []
        replaced = {name: getattr(torch_checkpoint, name) for name in (*_GENERATORS, _REENTRANT)
                    if hasattr(torch_checkpoint, name)}
        try:
            for path, module in self._module.named_modules():
                handles.append(module.register_forward_pre_hook(self._enter(path)))
                handles.append(module.register_forward_hook(self._leave))
            for name in replaced:
                setattr(torch_checkpoint, name,
                        _Reentrant(self) if name == _REENTRANT else self._generator)
            yield
        finally:
            for name, value in replaced.items():
                setattr(torch_checkpoint, name, value)
            for handle in handles:
                handle.remove()

    def modules(self) -> list[str]:
        """The modules to be computed again, none of them inside of another one. Warns of functions
        that no modules stand for."""
        found: dict[str, None] = {}
        problems: dict[tuple[bool, str], list[_Region]] = {}
        for region in self._regions:
            caller = region.caller
            if not region.is_cut and region.own_ops and caller.regions == 1 and not caller.outside:
                found[caller.path] = None
                continue
            if not region.is_cut:
                found.update(dict.fromkeys(region.modules))
            if region.is_cut or region.own_ops:
                problems.setdefault((region.is_cut, region.function), []).append(region)
        for (is_cut, _), regions in problems.items():
            warnings.warn(_where(regions) + (_CUT if is_cut else _incomplete(regions[0])),
                          ExportWarning, stacklevel=2)
        return [path for path in found if not any(_is_inside(path, other) for other in found)]

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Runs the function under a checkpoint with use_reentrant=True. As in torch, nothing in it
        has a gradient unless an argument has one."""
        is_cut = torch.is_grad_enabled() and not any(
            isinstance(arg, torch.Tensor) and arg.requires_grad for arg in args)
        with self._region(function, is_cut), torch.set_grad_enabled(
                torch.is_grad_enabled() and not is_cut):
            return function(*args)

    def _generator(self, function: Callable[..., Any], *_: Any, **__: Any) -> Iterator[None]:
        """Is begun before the function is called, and ended behind it."""
        with self._region(function):
            yield

    @contextmanager
    def _region(self, function: Callable[..., Any], is_cut: bool = False) -> Iterator[None]:
        if self._open is not None:  # What is inside of a checkpoint is computed again anyway.
            yield
            return
        caller = self._calls[-1]
        caller.regions += 1
        self._open = _Region(_name_of(function), caller, is_cut)
        self._regions.append(self._open)
        self._depth, self._seen = len(self._calls), _count_ops()
        try:
            yield
        finally:
            self._look()
            self._open = None

    def _enter(self, path: str) -> Any:
        def hook(*_: Any) -> None:
            if self._open is None:
                self._calls[-1].outside = True
            elif len(self._calls) == self._depth:
                self._look()
                self._open.modules.append(path)
            self._calls.append(_Call(path))
        return hook

    def _leave(self, *_: Any) -> None:
        self._calls.pop()
        if self._open is not None and len(self._calls) == self._depth:
            self._seen = _count_ops()

    def _look(self) -> None:
        """Notes whether ops were traced since the region began or its last module ended."""
        assert self._open is not None
        self._open.own_ops |= _count_ops() > self._seen


class _Reentrant:
    """What stands for torch's CheckpointFunction, of which no graph can be traced."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints

    def apply(self, function: Callable[..., Any], _: bool, *args: Any) -> Any:
        """As torch.autograd.Function.apply."""
        return self._checkpoints.run(function, *args)


def _count_ops() -> int:
    """How many ops compute something in the graph that is being traced."""
    mode = get_proxy_mode()
    return 0 if mode is None else sum(
        isinstance(node.target, torch._ops.OpOverload) for node in mode.tracer.graph.nodes)


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", type(function).__name__)


def _is_inside(path: str, other: str) -> bool:
    return path != other and (not other or path.startswith(other + "."))


def _where(regions: list[_Region]) -> str:
    paths = list(dict.fromkeys(region.caller.path for region in regions))
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return ((f"module '{paths[0]}'" if paths[0] else "the module itself")
            + f"{more}: checkpoint of {regions[0].function}: ")


def _incomplete(region: _Region) -> str:
    what = "nothing is computed again"
    if region.modules:
        names = " and ".join(f"'{name}'" for name in region.modules)
        what = f"{names} {'is' if len(region.modules) == 1 else 'are'} computed again, the rest is kept"
    return f"{what}, as it is neither one module nor all of a module: make a module of it"
