"""Buffers that a forward pass assigns anew."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ...errors import ExportError

_Buffer = tuple[str, torch.nn.Module, str, torch.Tensor]


@contextmanager
def assignments_kept(module: torch.nn.Module) -> Iterator[None]:
    """Inside of the context a call of the module ends by writing what it assigned to buffers of it
    and its submodules, `self.mean = ...`, into the buffers: torch.export forgets those of
    submodules."""
    before: list[_Buffer] = []

    def begin(*_: Any) -> None:
        before[:] = [(path, part, name, value) for path, part in module.named_modules()
                     for name, value in part._buffers.items() if value is not None]

    def end(*_: Any) -> None:
        for path, part, name, old in before:
            new = part._buffers.get(name)
            if new is old or new is None:
                continue
            if new.shape != old.shape or new.dtype != old.dtype:
                raise ExportError(
                    f"buffer '{path}{'.' * bool(path)}{name}': assigned a tensor of {new.dtype} "
                    f"{list(new.shape)}, which was of {old.dtype} {list(old.shape)}: keep its type "
                    "and shape, or pass it as an argument")
            old.copy_(new.detach())
            part._buffers[name] = old
    handles = [module.register_forward_pre_hook(begin), module.register_forward_hook(end)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
