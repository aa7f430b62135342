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
        """A function that reads `size` bytes, shared out to `threads` threads: in one stream, or in
        8 or 16, whichever is fastest here."""
        sweep = self.library.sweep_create(threads, size)
        if not sweep:
            sys.exit(f"error: no memory for a sweep over {size} bytes by {threads} threads")

        def seconds(way):
            begin = time.perf_counter()
            self.library.sweep_run(sweep, way)
            return time.perf_counter() - begin
        times = {way: min(seconds(way) for _ in range(5))
                 for way in range(self.library.sweep_ways())}
        best = min(times, key=times.get)
        return lambda: self.library.sweep_run(sweep, best)
