"""What the expressions of checkpoint-errors.cases may use: wrong checkpoints, and a program that is
unchanged when it has refused one.

    load(damaged(CHANGE))    CHANGE changes the index, or the files of the folder
"""
from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tp

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from checkpoints import INDEX, X, state_of, weights  # pylint: disable=wrong-import-position

Index = dict[str, Any]


def renamed(folder: str) -> None:
    """Gives the files of a checkpoint names that every run has."""
    path = os.path.join(folder, INDEX)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name in os.listdir(folder):
        if name != INDEX:
            new = name.split("-")[0] + "-0a0b0c0d" + name[name.index("-") + 9:]
            os.rename(os.path.join(folder, name), os.path.join(folder, new))
            text = text.replace(name, new)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def names() -> dict[str, Any]:
    """The names."""
    model = os.path.join(HERE, "..", "Inputs", "train.mlir")
    program = tp.compile(model, plan="auto", mesh={"tp": 2}, weights=weights())
    program(X)
    program.save_checkpoint("good")
    renamed("good")
    with open(os.path.join("good", INDEX), encoding="utf-8") as file:
        good = json.load(file)
    files = {kind: next(name for name in good["metadata"]["tp"]["files"] if name.startswith(kind))
             for kind in ("model", "state")}

    def fresh(name: str) -> str:
        shutil.rmtree(name, ignore_errors=True)
        shutil.copytree("good", name)
        return name

    def damaged(change: Callable[[Index], object] | str, name: str = "c") -> str:
        """The folder with another index, or another text in its place."""
        fresh(name)
        index = json.loads(json.dumps(good))
        if not isinstance(change, str):
            change(index)
        with open(os.path.join(name, INDEX), "w", encoding="utf-8") as file:
            file.write(change if isinstance(change, str) else json.dumps(index))
        return name

    def with_file(kind: str, change: Callable[[bytearray], object], name: str = "c") -> str:
        """The folder with another file."""
        path = os.path.join(fresh(name), files[kind])
        with open(path, "rb") as file:
            data = bytearray(file.read())
        changed = change(data)
        with open(path, "wb") as file:
            file.write(changed if isinstance(changed, bytes) else data)
        return name

    def without(*kinds: str) -> str:
        """The folder without these files."""
        fresh("c")
        for kind in kinds:
            os.remove(os.path.join("c", files.get(kind, kind)))
        return "c"

    def own(index: Index) -> Index:
        part: Index = index["metadata"]["tp"]
        return part

    def load(folder: str) -> None:
        """Fails as load_checkpoint does, and has changed nothing."""
        before = state_of(program)
        try:
            program.load_checkpoint(folder)
        finally:
            np.testing.assert_equal(state_of(program), before)

    def load_other(folder: str, **changes: tuple[str, str]) -> None:
        """The same into a program of the model with another text."""
        with open(model, encoding="utf-8") as file:
            text = file.read()
        for old, new in changes.values():
            assert old in text
            text = text.replace(old, new)
        with open("other.mlir", "w", encoding="utf-8") as file:
            file.write(text)
        with tp.compile("other.mlir") as other:
            other.load_checkpoint(folder)

    def save(folder: str, size: Any = "5GB") -> None:
        program.save_checkpoint(folder, max_shard_size=size)

    def locked(folder: str) -> None:
        import fcntl
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            save(folder)
        finally:
            os.close(descriptor)
    return {"INDEX": INDEX, "damaged": damaged, "files": files, "json": json, "load": load,
            "load_other": load_other, "locked": locked, "os": os, "own": own, "save": save,
            "tp": tp, "with_file": with_file, "without": without}
