"""Makes a failing program small."""

import os
import re
import shutil
import subprocess
import tempfile
import time

import is_wrong

HERE = os.path.dirname(os.path.abspath(__file__))


def reduce(text, seed, kind, folder, seconds):
    """The smallest program found that fails in the same way, or None if tp-reduce
    finds none in time."""
    start = time.time()
    smaller = with_fewer_ops(text, seed, kind, folder, seconds)
    return smaller and with_smaller_sizes(smaller, seed, kind,
                                          start + seconds - time.time())


def with_size(text, old, new):
    """Dimensions of size `old` get size `new`, wherever sizes are written."""
    def types(match):
        return re.sub(rf"(?<![\dx]){old}x|(?<=x){old}x", f"{new}x", match.group())
    text = re.sub(r"tensor<[^>]*>", types, text)
    return re.sub(r"((?:view|output_shape) \[)([^\]]*)", lambda match: match.group(1) + re.sub(
        rf"\b{old}\b", str(new), match.group(2)), text)


def with_smaller_sizes(text, seed, kind, seconds):
    """The same ops on smaller tensors."""
    end = time.time() + seconds
    folder = tempfile.mkdtemp(prefix="smaller-")
    try:
        sizes = {int(n) for shape in re.findall(r"tensor<((?:\d+x)+)", text)
                 for n in shape.split("x")[:-1]}
        for size in sorted(sizes, reverse=True):
            for new in (1, 2, 3, size // 2, size - 1):
                if not 0 < new < size or time.time() > end:
                    continue
                smaller = with_size(text, size, new)
                failure = is_wrong.failure_of(smaller, seed, folder, kind)
                if failure and failure.kind == kind:
                    text = smaller
                    break
    finally:
        shutil.rmtree(folder)
    return text


def with_fewer_ops(text, seed, kind, folder, seconds):
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
