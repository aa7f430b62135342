"""^C in a command of the wheel before it is the tool, as where Python still imports.

The signal comes from the process itself, with the handler of a foreground process.
"""
from __future__ import annotations

import signal
import subprocess
import sys

COMMAND = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import tp_commands
os.kill(os.getpid(), signal.SIGINT)
tp_commands.tp_run()
"""

done = subprocess.run([sys.executable, "-c", COMMAND, "--version"], capture_output=True, text=True)
assert done.returncode < 0, done
print(f"ended by {signal.Signals(-done.returncode).name}, printed {done.stdout + done.stderr!r}")
