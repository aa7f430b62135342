"""^C ends examples/train/run.py with one line, which says whether there is a checkpoint.

    interrupted_run.py EXAMPLES FOLDER
"""
from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

EXAMPLES, FOLDER = sys.argv[1:]
sys.path.insert(0, os.path.join(EXAMPLES, "train"))
import run  # noqa: E402


def interrupted(*_: Any) -> NoReturn:
    """As the first step, or the write of a checkpoint, does."""
    raise KeyboardInterrupt


setattr(run, "train", interrupted)
setattr(run, "torch_losses", interrupted)


def check(*options: str) -> None:
    """Prints what the script ends with."""
    try:
        run.main([f"--folder={FOLDER}", *options])
    except SystemExit as error:
        print(f"status {error.code}", flush=True)


check()
checkpoint = os.path.join(FOLDER, "checkpoint")
os.makedirs(checkpoint)
with open(os.path.join(checkpoint, run.INDEX), "w", encoding="utf-8"):
    pass
check()
check("--torch")
