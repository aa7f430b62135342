"""^C ends a command of `python -m tp` quietly, here one that reads an input from a pipe.

    interrupted.py PROGRAM.tp FOLDER
"""
from __future__ import annotations

import os
import signal
import subprocess
import sys

PROGRAM, FOLDER = sys.argv[1:]
pipe = os.path.join(FOLDER, "tokens.npy")
os.mkfifo(pipe)
# A process that is started in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
command = subprocess.Popen([sys.executable, "-m", "tp", "run", PROGRAM, f"--input={pipe}"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
with open(pipe, "wb"):  # the command has opened it, too, and waits for bytes
    command.send_signal(signal.SIGINT)
    printed, _ = command.communicate()
print(f"status {command.returncode}, printed {printed!r}")
