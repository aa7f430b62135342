"""`python -m tp run`: steps of an artifact, with inputs and results in files."""
from __future__ import annotations

import argparse
import io
import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..artifact import Port, by_name, find
from ..errors import RunError, listed, near
from ..files import check_outputs, write_whole
from ..program import Program, load
from ..ranks.launcher import find_launcher
from ..safetensors import SafeTensors
from .options import weights_of
from .stats import stats_of


def run(options: argparse.Namespace) -> None:
    """Runs the steps, writes the files that are asked for and prints a line for each result."""
    if options.repeat < 1:
        raise RunError(f"--repeat: expected a number of steps from 1 on, got {options.repeat}")
    check_outputs([*map(_path, options.output), *([options.stats] if options.stats else [])],
                  [options.artifact, *(options.weights or []), *(options.link or []),
                   *([options.buffers] if options.buffers else []),
                   *(_path(text) for text in options.input)])
    program = _entry(load(options.artifact, weights_of(options), launch=options.launch,
                          timeout=options.timeout, link=options.link), options.entry)
    inputs = {name: _read(path, name)
              for name, path in _pairs(options.input, program.input_names, "input").items()}
    outputs = _pairs(options.output, program.result_names, "output")
    for name, path in outputs.items():
        find(program._results, name, "result")
        # The name of a device, a FIFO or an open descriptor tells no form.
        is_stream = path.startswith(("/dev/", "/proc/self/fd/")) or (
            os.path.exists(path) and not os.path.isfile(path))
        if not path.endswith(".npy") and not is_stream:
            raise RunError(f"--output: {path}: expected the name of a .npy file; tp-run also writes "
                           ".safetensors files")
    begin = time.perf_counter()
    if options.stats:
        with program._shared.lock:
            program._shared.start()
    start = time.perf_counter() - begin
    times: list[float] = []
    results = _timed(program, inputs, times)
    ports = by_name(program._inputs)
    # What a step updates is given to the first one alone.
    again = {name: array for name, array in inputs.items()
             if ports[name].tensor not in program._kept}
    for _ in range(options.repeat - 1):
        results = _timed(program, again, times)
    rows = results if isinstance(results, tuple) else () if results is None else (results,)
    launched = find_launcher() if program._shared.launch == "torchrun" else None
    if launched is not None and launched.rank != 0:
        return
    if options.stats:
        write_whole(options.stats, [stats_of(program, start, times)])
    for (name, port), array in zip(by_name(program._results).items(), rows):
        if name in outputs:
            written = io.BytesIO()
            np.save(written, _as_written(array, port))
            write_whole(outputs[name], [written.getvalue()])
        print(f"{name}: {port.dtype.torch}{list(array.shape)}" + (
            f", written to {outputs[name]}" if name in outputs else ""))


def _timed(program: Program, inputs: dict[str, Any], times: list[float]) -> Any:
    """What a step returns; its seconds are added to `times`."""
    begin = time.perf_counter()
    results = program(**inputs)
    times.append(time.perf_counter() - begin)
    return results


def _entry(program: Program, name: str | None) -> Program:
    """The entry of this name, or the only one."""
    entries = program.entries
    if name is None:
        if len(entries) > 1:
            raise RunError(f"the artifact has {len(entries)} entries, expected "
                           + " or ".join(f"--entry={entry}" for entry in entries))
        return program
    if name not in entries:
        raise RunError(f"--entry: there is no entry '{name}'"
                       f"{near(name, entries) or ', the artifact has ' + ', '.join(entries)}")
    return entries[name]


def _pairs(texts: Sequence[str], names: Sequence[str], what: str) -> dict[str, str]:
    """`NAME=FILE`, or `FILE` for the next name in order. An `@` before the file, as tp-run has it,
    may be left out."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, separator, _ = text.partition("=")
        if not separator:
            name = next((name for name in names if name not in pairs), "")
            if not name:
                raise RunError(f"--{what}={text}: there are {len(names)} {what}s")
        if name in pairs:
            raise RunError(f"--{what}={text}: '{name}' has a file already")
        pairs[name] = _path(text)
    return pairs


def _path(text: str) -> str:
    """The file of `NAME=@FILE`, each part but the last of which may be left out."""
    name, separator, path = text.partition("=")
    return (path if separator else name).removeprefix("@")


def _read(path: str, name: str) -> Any:
    if path.endswith(".safetensors"):
        stored = SafeTensors(path)
        if name not in stored:
            raise RunError(f"{path} has no '{name}'"
                           f"{near(name, stored) or '; there are ' + listed(stored)}")
        return np.asarray(stored[name])
    try:
        array = np.load(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: {error}", code=2) from error
    # numpy has no bf16 and no f8: their bits are raw elements.
    return array.view(f"u{array.itemsize}") if array.dtype.str in ("|V1", "|V2") else array


def _as_written(array: np.ndarray[Any, Any], port: Port) -> np.ndarray[Any, Any]:
    """Raw elements, as tp-run writes them, where numpy has no such type."""
    return array if port.dtype.numpy is not None else array.view(np.dtype(f"V{port.dtype.size}"))
