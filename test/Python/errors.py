"""Makes the wrong calls of a table and compares the exceptions.

    errors.py CASES --example=examples/llama --folder=FOLDER [--names=FILE] [--update]

A case is a Python expression, indented below it `Type: message`, and a blank line. `@MODULE` before
the expression leaves the case out where MODULE is missing. The names of an expression are those of
`names()`, or of the function of that name in FILE. FOLDER and EXAMPLE stand for the folders' paths.
`--update` writes the messages of now.
"""
from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import re
import runpy
import struct
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import tp


@dataclass
class Case:
    module: str
    call: str
    expected: str

    def text(self) -> str:
        call = f"@{self.module} {self.call}" if self.module else self.call
        return call + "\n" + "".join(f"    {line}\n" for line in self.expected.splitlines())


def read(path: str) -> tuple[str, list[Case]]:
    with open(path, encoding="utf-8") as file:
        head, *blocks = file.read().split("\n\n")
    cases = []
    for block in blocks:
        call, *lines = block.strip("\n").split("\n")
        module = ""
        if call.startswith("@"):
            module, _, call = call[1:].partition(" ")
        cases.append(Case(module, call, "\n".join(line.removeprefix("    ") for line in lines)))
    return head, cases


def write(name: str, data: bytes) -> str:
    with open(name, "wb") as file:
        file.write(data)
    return name


def in_environment(call: Any, **variables: str) -> Any:
    """Calls with other environment variables."""
    old = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        return call()
    finally:
        for name, value in old.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def after_fork(program: tp.Program, *inputs: Any) -> None:
    """What a forked child gets."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        message = "no exception"
        try:
            program(*inputs)
        except tp.RunError as error:
            message = str(error)
        os.write(write_end, message.encode())
        os._exit(0)
    os.wait()
    raise tp.RunError(os.read(read_end, 4096).decode().replace(str(os.getpid()), "PID"))


def after_kill(path: str, weights: str, tokens: Any) -> None:
    """A rank's process is killed between two steps."""
    program = tp.load(path, weights, launch="process")
    program(tokens)
    program._shared.group._processes[1].kill()  # type: ignore[union-attr]
    program(tokens)


def again(call: Any) -> Any:
    """The second call, after the first one has failed."""
    try:
        call()
    except tp.Error:
        pass
    return call()


def safetensors(name: str, header: bytes, data: bytes = b"") -> str:
    return write(name, len(header).to_bytes(8, "little") + header + data)


def save(name: str, arrays: dict[str, Any]) -> str:
    """A .safetensors file."""
    header, data = {}, b""
    kinds = {"f4": "F32", "f8": "F64", "i4": "I32"}
    for key, array in arrays.items():
        begin, data = len(data), data + array.tobytes()
        header[key] = {"dtype": kinds[array.dtype.str[1:]], "shape": list(array.shape),
                       "data_offsets": [begin, len(data)]}
    return safetensors(name, json.dumps(header).encode(), data)


def stored(arrays: dict[str, Any], kind: str, sharded: bool = False, **changed: Any) -> str:
    """A file of the arrays as another type, or an index of two files. None leaves one out."""
    others = {name: array for name, array in
              {**{name: array.astype(kind) for name, array in arrays.items()}, **changed}.items()
              if array is not None}
    if not sharded:
        return save(f"{kind}.safetensors", others)
    names = list(others)
    files = {name: f"{kind}-{number % 2}.safetensors" for number, name in enumerate(names)}
    for file in set(files.values()):
        save(file, {name: others[name] for name in names if files[name] == file})
    return write(f"{kind}.safetensors.index.json", json.dumps({"weight_map": files}).encode())


def container(manifest: bytes) -> bytes:
    """An artifact of a manifest alone."""
    checksum = 0xcbf29ce484222325
    for byte in manifest:
        checksum = (checksum ^ byte) * 0x100000001b3 % (1 << 64)
    table = struct.pack("<16sQQQ", b"manifest", 64, len(manifest), checksum)
    return struct.pack("<8sIIQ", b"TPARTIF\0", 1, 1, 64 + len(manifest)) + table + manifest


def names(example: str) -> dict[str, Any]:
    """What the expressions may use."""
    weights = os.path.join(example, "weights.safetensors")
    model = os.path.join(example, "model.mlir")
    plan = {"layers.*.attention.wq": "colwise", "layers.*.attention.wk": "colwise",
            "layers.*.attention.wv": "colwise", "layers.*.attention.wo": "rowwise"}
    program = tp.compile(example, plan=plan, mesh={"tp": 2})
    program.save("good.tp")
    with open("good.tp", "rb") as file:
        artifact = file.read()
    source = tp.weights.open_sources(weights)[0]
    arrays = {name: source[name].bits.view("f4") for name in source}
    closed = tp.load("good.tp", weights)
    closed.close()
    # An argument and its next value, which have the same local shape under different layouts.
    square = """func.func @main(%w: tensor<4x4xf32> {tp.name = "w", tp.kind = "parameter"})
    -> (tensor<4x4xf32> {tp.name = "w", tp.kind = "new_parameter"}) {
  %empty = tensor.empty() : tensor<4x4xf32>
  %next = linalg.exp ins(%w : tensor<4x4xf32>) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %next : tensor<4x4xf32>
}
"""
    values: dict[str, Any] = {
        "square": square,
        "run": str(10**9 + os.getpid()),  # a run that only this process is of
        "arrays": arrays, "artifact": artifact, "closed": closed, "container": container, "model": model, "np": np,
        "plan": plan, "program": program, "tokens": np.load(os.path.join(example, "tokens.npy")),
        "tp": tp, "weights": weights, "example": example,
        "after_fork": after_fork, "after_kill": after_kill, "again": again,
        "in_environment": in_environment, "safetensors": safetensors,
        "stored_as": functools.partial(stored, arrays), "write": write,
        "compile": lambda **options: tp.compile(example, **{"plan": plan, "mesh": 2, **options})}
    for module in ("torch", "jax"):
        if importlib.util.find_spec(module):
            values[module] = importlib.import_module(module)
    if "torch" in values:
        import torch.distributed.tensor.parallel as styles
        values["styles"] = styles
    return values


def outcome(call: str, values: dict[str, Any], folders: dict[str, str]) -> str:
    try:
        eval(call, values)
    except Exception as error:  # any: the table says which it has to be
        message = f"{type(error).__name__}: {error}"
    else:
        message = "no exception"
    for path, name in folders.items():
        message = message.replace(path, name)
    message = re.sub(r"(TESTS/\w+\.py):\d+", r"\1:LINE", message)
    message = re.sub(r"CRC-32 [0-9a-f]+, expected [0-9a-f]+", "CRC-32 X, expected Y", message)
    return re.sub(r"\d{5,}", "N", message)  # sizes of artifacts may change


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases")
    parser.add_argument("--example", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--names")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    path, example = os.path.abspath(options.cases), os.path.abspath(options.example)
    folder = os.path.abspath(options.folder)
    own_names = options.names and os.path.abspath(options.names)
    os.chdir(folder)
    head, cases = read(path)
    values = runpy.run_path(own_names)["names"]() if own_names else names(example)
    wrong = 0
    for case in cases:
        if case.module and not importlib.util.find_spec(case.module):
            continue
        message = outcome(case.call, values, {example: "EXAMPLE", folder: "FOLDER",
                                              os.path.dirname(path): "TESTS"})
        if message != case.expected:
            wrong += 1
            print(f"{case.call}\n  expected {case.expected!r}\n  got      {message!r}",
                  file=sys.stderr)
        if options.update:
            case.expected = message
    if options.update:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([head + "\n", *(case.text() for case in cases)]))
    elif wrong:
        sys.exit(f"{wrong} of {len(cases)} messages differ")
    print(f"{len(cases)} wrong calls")


main()
