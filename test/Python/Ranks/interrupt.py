"""Interrupts a step whose ranks wait for a stopped process.

    interrupt.py EXAMPLE PROGRAM.tp
"""
from __future__ import annotations

import os
import signal
import sys
import threading
import traceback

import numpy as np
import tp

EXAMPLE, PROGRAM = sys.argv[1:]
tokens = np.load(os.path.join(EXAMPLE, "tokens.npy"))
# A process that is started in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
program = tp.load(PROGRAM, os.path.join(EXAMPLE, "weights.safetensors"), launch="process")
program(tokens)
processes = list(program._shared.group._processes)
os.kill(processes[1].pid, signal.SIGSTOP)
try:
    # Whenever it comes: the step cannot end before.
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    program(tokens)
except KeyboardInterrupt as error:
    print("interrupted")
    # This line, the call and the step of the ranks.
    assert len(traceback.extract_tb(error.__traceback__)) <= 3
try:
    program(tokens)
except tp.RunError as error:
    print(error)
assert all(process.poll() is not None for process in processes)
print("no rank is left")
