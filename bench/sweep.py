"""Reads memory from Python as fast as this machine does: what a step that reads all weights is
measured against."""

import ctypes
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILERS = ("cc", "clang", "clang-22", "gcc")


class Sweeps:
    """The library of sweep.c, built in `folder`."""

    def __init__(self, folder):
        compiler = next(filter(shutil.which, COMPILERS), None)
        if compiler is None:
            sys.exit(f"error: no C compiler, expected one of {', '.join(COMPILERS)}")
        path = os.path.join(folder, "libsweep.so")
        subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", "-pthread",
                        os.path.join(HERE, "sweep.c"), "-o", path], check=True)
        self.library = ctypes.CDLL(path)
        self.library.sweep_create.restype = ctypes.c_void_p
        self.library.sweep_create.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
        self.library.sweep_run.argtypes = [ctypes.c_void_p, ctypes.c_int]

    def over(self, threads, size):
        """A function that reads `size` bytes, shared out to `threads` threads: in one stream or in
        several, whichever is faster here."""
        sweep = self.library.sweep_create(threads, size)
        if not sweep:
            sys.exit(f"error: no memory for a sweep over {size} bytes by {threads} threads")

        def seconds(streams):
            begin = time.perf_counter()
            self.library.sweep_run(sweep, streams)
            return time.perf_counter() - begin
        times = {streams: min(seconds(streams) for _ in range(5)) for streams in (0, 1)}
        best = min(times, key=times.get)
        return lambda: self.library.sweep_run(sweep, best)
