"""Interrupts the writing of a checkpoint at every line that it runs: the folder is the old
checkpoint or the new one.

    interrupted_checkpoint.py FOLDER
"""
from __future__ import annotations

import os
import shutil
import sys
from types import FrameType
from typing import Any

import numpy as np
from tp import files
from tp.ranks import checkpoint_folder
from tp.ranks.checkpoint_folder import Tensor

FOLDER = sys.argv[1]
WRITERS = (checkpoint_folder.__file__, files.__file__)


class Interrupt:
    """Raises KeyboardInterrupt at a line of the writers, counted from here on."""

    def __init__(self, line: int) -> None:
        self.left = line

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in WRITERS:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.trace


def tensor(key: str, value: float) -> Tensor:
    array = np.full(3, value, np.float32)
    return Tensor(key, "F32", (3,), array.nbytes, lambda: array.view(np.uint32))


def write(value: float) -> None:
    checkpoint_folder.write(FOLDER, [tensor("a", value), tensor("b", value)],
                            [tensor("c", value)], 12)


def held() -> float:
    """The value of all tensors of the checkpoint."""
    found = checkpoint_folder.read(FOLDER)
    values = {float(stored.bits.view(np.float32)[0])
              for stored in (*found.model.values(), *found.state.values())}
    assert len(values) == 1, values
    return values.pop()


os.fsync = lambda descriptor: None
line, new, old = 0, 0, 0
while True:
    line += 1
    shutil.rmtree(FOLDER, ignore_errors=True)
    write(0)
    interrupt = Interrupt(line)
    sys.settrace(interrupt.trace)
    try:
        write(line)
        break
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    after = held()
    assert after in (0, line), (line, after)
    old, new = old + (after == 0), new + (after == line)
assert held() == line and len(os.listdir(FOLDER)) == 4, os.listdir(FOLDER)
print(f"interrupted {'at many lines' if line > 100 else line}: "
      f"{'old and new' if old and new else (old, new)}")
