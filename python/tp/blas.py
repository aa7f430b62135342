"""Loads the native runtime so that its matrix products are made by one thread of a rank.

OpenBLAS starts its threads when it is loaded. Each takes 128 MiB of address space, and asks for
them again and again where a limit (`ulimit -v`) refuses them: a process would never end.
"""
from __future__ import annotations

import os

_THREADS = "OPENBLAS_NUM_THREADS"


def _load_runtime() -> None:
    """Loads it. numpy, which has an OpenBLAS of its own, is loaded before, as it is."""
    import numpy  # noqa: F401  pylint: disable=unused-import

    given = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        from . import _runtime  # noqa: F401  pylint: disable=unused-import
    finally:
        if given is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = given


_load_runtime()
