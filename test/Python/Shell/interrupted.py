"""^C ends a command of `python -m tp` with one line: one that reads an input from a pipe, one that
still imports, and one in the middle of a text.

    interrupted.py PROGRAM.tp FOLDER
"""
from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

from tp.__main__ import main
from tp.shell import generate as shell

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

# A numpy whose import is interrupted.
early = os.path.join(FOLDER, "early")
os.makedirs(early)
with open(os.path.join(early, "numpy.py"), "w", encoding="utf-8") as file:
    file.write("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
paths = os.pathsep.join([early, os.environ["PYTHONPATH"]])
done = subprocess.run([sys.executable, "-m", "tp", "run", PROGRAM], capture_output=True, text=True,
                      env={**os.environ, "PYTHONPATH": paths})
print(f"early: status {done.returncode}, printed {done.stdout + done.stderr!r}")


def pieces(*_: Any, **options: Any) -> Iterator[str]:
    """A text that ^C ends."""
    yield "a piece"
    raise KeyboardInterrupt("rank 1 has not ended a step")


setattr(shell, "generate_text", pieces)
with redirect_stdout(StringIO()) as text, redirect_stderr(StringIO()) as errors:
    status = main(["generate", "no-such-model", "a prompt"])
print(f"text: status {status}, printed {text.getvalue()!r} and {errors.getvalue()!r}")
