"""Exports and compilations show their stages on a terminal, and leave nothing behind on it."""
from __future__ import annotations

import io
import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any

import torch
from torch import nn

import tp


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Bar:
    """What calls of tqdm's class come to."""
    shown: list[str] = []
    is_open = False

    def __init__(self, **options: Any) -> None:
        assert not Bar.is_open and not options["leave"], options
        Bar.is_open = True
        self.shown.append(options["desc"])

    def set_description_str(self, text: str) -> None:
        self.shown.append(text)

    def refresh(self) -> None:
        self.shown.append("wait")

    def close(self) -> None:
        Bar.is_open = False


def shown(call: Any) -> list[str]:
    """What a call shows; one that fails has closed its bar too."""
    Bar.shown.clear()
    try:
        call()
    except tp.Error as error:
        Bar.shown.append(type(error).__name__)
    assert not Bar.is_open
    return [text for text in Bar.shown if text != "wait"]


# Whether tqdm is installed or not.
stand_in = types.ModuleType("tqdm")
stand_in.__spec__ = ModuleSpec("tqdm", None)  # torch asks for it
stand_in.tqdm = Bar  # type: ignore[attr-defined]
sys.modules["tqdm"] = stand_in
module, x = nn.Linear(8, 8), torch.ones(4, 8)
models = {}


def train() -> None:
    models["step"] = tp.export_training(module, nn.functional.mse_loss, torch.optim.SGD, (x, x))


assert not shown(lambda: tp.export(module, (x,)))
old, sys.stderr = sys.stderr, Terminal()
try:
    rows = [shown(lambda: tp.export(module, (x,))), shown(train),
            shown(lambda: tp.compile(models["step"])), shown(lambda: tp.export(module, (x[0, :3],))),
            shown(lambda: tp.compile(models["step"], plan={"no": "colwise"}, mesh=2))]
finally:
    sys.stderr = old
print(*rows, sep="\n")
