"""Makes a failing program small."""

import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def reduce(text, seed, kind, folder, seconds):
    """The smallest program found that fails in the same way, or None if tp-reduce
    finds none in time."""
    path = os.path.join(folder, f"reducing-{seed}.mlir")
    output = path + ".out"
    with open(path, "w") as file:
        file.write(text)
    command = ["tp-reduce", path, "-o", output,
               f"--tp-shrink=test={HERE}/is_wrong.py "
               f"test-arg=--kind={kind} test-arg=--seed={seed}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds)
        if done.returncode:
            return None
        with open(output) as file:
            return file.read()
    except (subprocess.TimeoutExpired, OSError):
        return None
    finally:
        for name in (path, output):
            if os.path.exists(name):
                os.remove(name)
