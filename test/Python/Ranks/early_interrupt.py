"""^C while the processes of ranks start, which it reaches too.

    early_interrupt.py EXAMPLE PROGRAM.tp
"""
from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import tp
from tp.ranks import processes

EXAMPLE, PROGRAM = sys.argv[1:]
tokens = np.load(os.path.join(EXAMPLE, "tokens.npy"))
# A process that is started in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Interrupted(subprocess.Popen[bytes]):
    """A rank that has the signal before it has imported anything."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        os.kill(self.pid, signal.SIGINT)


setattr(processes.subprocess, "Popen", Interrupted)
with tp.load(PROGRAM, os.path.join(EXAMPLE, "weights.safetensors"), launch="process") as program:
    print(f"the ranks go on: {program(tokens).shape}")
assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
