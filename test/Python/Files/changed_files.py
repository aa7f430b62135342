"""Changes, cuts, replaces and removes files that a program was loaded from, and fills up a disk.

    changed_files.py EXAMPLE    in an empty folder
"""
from __future__ import annotations

import contextlib
import io
import os
import resource
import shutil
import sys
from collections.abc import Callable, Iterator

import numpy as np
import tp
from tp.__main__ import main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from refusals import error_of  # noqa: E402  pylint: disable=wrong-import-position

EXAMPLE = sys.argv[1]
WEIGHTS, PROGRAM = "weights.safetensors", "program.tp"
tokens = np.load(os.path.join(EXAMPLE, "tokens.npy"))
first = tp.compile(EXAMPLE, plan="auto", mesh=2)
first.save("good.tp")
tp.compile(EXAMPLE, plan="auto", mesh=4).save("other.tp")
expected = first(tokens)


def overwrite(path: str) -> None:
    """Other numbers in the same file; the time of a fast machine's clock may be the same too."""
    with open(path, "r+b") as file:
        file.seek(-4096, os.SEEK_END)
        file.write(bytes(4096))
    os.utime(path, (1, 1))


def cut(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


def replace(path: str) -> None:
    with open("new", "wb") as file:
        file.write(b"another file")
    os.replace("new", path)


def copy_other(path: str) -> None:
    shutil.copyfile("other.tp", path)


def copy_of_one_time(path: str) -> None:
    """The size and the time are those of the file that was loaded: its table tells them apart."""
    before = os.stat(path)
    copy_other(path)
    with open(path, "ab") as file:
        file.truncate(before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def check(path: str, change: Callable[[str], object], launch: str, is_error: bool) -> None:
    shutil.copyfile("good.tp", PROGRAM)
    shutil.copyfile(os.path.join(EXAMPLE, "weights.safetensors"), WEIGHTS)
    with tp.load(PROGRAM, WEIGHTS, launch=launch) as program:
        change(path)
        if is_error:
            message = error_of(lambda: program(tokens))
            assert message.startswith(f"{path}: the file has changed since it was loaded"), message
            if path == PROGRAM:
                message = error_of(lambda: program.save("copy.tp"))
                assert message.startswith(f"{path}: the file has changed"), message
                assert not os.path.exists("copy.tp")
        else:
            np.testing.assert_array_equal(program(tokens), expected)
            change(WEIGHTS)  # the ranks have read them
            np.testing.assert_array_equal(program(tokens), expected)
            program.save("copy.tp")
            with open("copy.tp", "rb") as copy, open("good.tp", "rb") as good:
                assert copy.read() == good.read()
            os.remove("copy.tp")


for launch in ("thread", "process"):
    for path, change in ((WEIGHTS, overwrite), (WEIGHTS, cut), (PROGRAM, overwrite), (PROGRAM, cut),
                         (PROGRAM, copy_other), (PROGRAM, copy_of_one_time)):
        check(path, change, launch, True)
    for path, change in ((WEIGHTS, replace), (PROGRAM, replace), (PROGRAM, os.remove)):
        check(path, change, launch, False)
# A program may be saved where it was loaded from.
with tp.load("good.tp") as again:
    again.save("good.tp")


@contextlib.contextmanager
def disk_of(size: int) -> Iterator[None]:
    """No file gets more bytes than this."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


with open("old.tp", "wb") as old_file:
    old_file.write(b"old")
before = sorted(os.listdir("."))
with disk_of(1000):
    for name in ("new.tp", "old.tp"):
        assert error_of(lambda: first.save(name)) == f"{name}: cannot write: File too large"
with open("old.tp", "rb") as old_file:
    assert old_file.read() == b"old"
arguments = ["run", "good.tp", "--weights=" + os.path.join(EXAMPLE, "weights.safetensors"),
             "--input=tokens=@" + os.path.join(EXAMPLE, "tokens.npy")]
with disk_of(100_000), contextlib.redirect_stderr(io.StringIO()) as printed:
    assert main([*arguments, "--output=logits.npy"]) == 1
assert printed.getvalue() == (
    "python -m tp run: error: logits.npy: cannot write: File too large\n"), printed.getvalue()
assert sorted(os.listdir(".")) == before, os.listdir(".")
assert main([*arguments, "--output=@logits.npy"]) == 0
np.testing.assert_array_equal(np.load("logits.npy"), expected)
