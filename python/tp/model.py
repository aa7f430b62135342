"""A model before it is compiled: its program, its ports and its weights. Needs numpy alone."""
from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .arrays import is_equal
from .dtypes import DTYPES, name_of_numpy, name_of_torch
from .errors import ExportError, RunError, plural
from .files import write_whole
from .safetensors import NAMES, SafeTensors, Stored
from .tables import Table
from .weights import warn_of_replaced

_VERSION = 1


@dataclass(frozen=True)
class Port:
    """An argument or a result of a program.

    Attributes:
        name, kind: as docs/model-file.md describes them.
        shape: of the whole tensor.
        dtype: MLIR's name of the element type, `f32`.
        updates: of a result, the argument whose next value it is (`NAME` or `KIND:NAME`).
    """
    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    updates: str | None = None

    def __str__(self) -> str:
        # A state of the optimizer, and a next value, have the name of their parameter.
        name = self.updates or f"{self.kind}:{self.name}"
        if not name.startswith("opt_"):
            name = self.name
        return f"{name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


def keys_of(ports: Sequence[Port]) -> list[str]:
    """The name of each port where no other has it, else `kind:name`; always that for optimizer
    state, which has the name of its parameter."""
    def is_state(port: Port) -> bool:
        return port.kind.startswith("opt_")
    counts = Counter(port.name for port in ports if not is_state(port))
    return [f"{port.kind}:{port.name}" if is_state(port) or counts[port.name] > 1 else port.name
            for port in ports]


class Model:
    """A program that tp compiles, with its weights.

    Attributes:
        mlir: the text of the program (docs/model-file.md).
        arguments, results: its ports, in order.
        weights: the values of arguments that are no inputs, by name (`kind:name` where several
            arguments have one name): torch tensors, numpy arrays, or arrays of a file.
        own_plan: a transformers model's own plan, from patterns of modules to names of styles;
            None where the module has none.
        own_expert_plan: the same of the plan that shares its experts among ranks.
    """

    def __init__(self, mlir: str, arguments: Sequence[Port], results: Sequence[Port],
                 weights: Mapping[str, Any], own_plan: Mapping[str, str] | None = None,
                 own_expert_plan: Mapping[str, str] | None = None) -> None:
        self.mlir = mlir
        self.arguments = list(arguments)
        self.results = list(results)
        self.weights = weights
        self.own_plan = None if own_plan is None else dict(own_plan)
        self.own_expert_plan = None if own_expert_plan is None else dict(own_expert_plan)
        self._folder: str | None = None

    @property
    def inputs(self) -> list[Port]:
        """The arguments that a call gives: those that have no weight."""
        return [port for port, key in zip(self.arguments, keys_of(self.arguments))
                if key not in self.weights]

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        returned = [port for port in self.results if port.updates is None]
        results = ", ".join(map(str, returned))
        updates = len(self.results) - len(returned)
        return (f"<tp.Model ({inputs}) -> ({results}), {plural(len(self.weights), 'weight')}"
                + (f", {plural(updates, 'update')}>" if updates else ">"))

    def _repr_html_(self) -> str:
        columns = ["name", "kind", "shape", "dtype", "updates"]
        return (Table(self.arguments, columns[:-1], repr(self)[1:-1])._repr_html_()
                + Table(self.results, columns, "results")._repr_html_())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes model.mlir, weights.safetensors and ports.json into `folder`, which is made where
        it is not there. A weight that has several names is written once."""
        folder = os.fspath(folder)
        warn_of_replaced([self.weights], 2)
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder}: cannot make the folder: {error.strerror}",
                           code=2) from error
        aliases = _write_weights(os.path.join(folder, "weights.safetensors"), self.weights)
        write_whole(os.path.join(folder, "model.mlir"), [self.mlir.encode()])
        ports = {"version": _VERSION, "arguments": [asdict(port) for port in self.arguments],
                 "results": [asdict(port) for port in self.results], "aliases": aliases,
                 "own_plan": self.own_plan, "own_expert_plan": self.own_expert_plan}
        write_whole(os.path.join(folder, "ports.json"), [json.dumps(ports, indent=1).encode()])

    @staticmethod
    def load(folder: str | os.PathLike[str]) -> Model:
        """The model that `save` wrote; its weights are read when they are used.

        Raises RunError where a file is missing, damaged or of another version.
        """
        folder = os.fspath(folder)
        path = os.path.join(folder, "ports.json")
        try:
            with open(path, encoding="utf-8") as file:
                ports = json.load(file)
            with open(os.path.join(folder, "model.mlir"), encoding="utf-8") as file:
                mlir = file.read()
        except OSError as error:
            raise RunError(f"{error.filename}: {error.strerror}: expected a folder that "
                           "tp.Model.save wrote", code=2) from error
        except ValueError as error:
            raise RunError(f"{path}: no JSON: {error}", code=3) from error
        try:
            if ports["version"] != _VERSION:
                raise RunError(f"{path}: expected version {_VERSION}, got {ports['version']}: "
                               "export the model again", code=3)
            arguments = [_port(row) for row in ports["arguments"]]
            results = [_port(row) for row in ports["results"]]
            aliases = dict(ports["aliases"])
            plans = ports["own_plan"], ports.get("own_expert_plan")
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"{path}: expected what tp.Model.save writes, got a file without "
                           f"{error}", code=3) from error
        stored = SafeTensors(os.path.join(folder, "weights.safetensors"))
        model = Model(mlir, arguments, results, _StoredWeights(stored, aliases), *plans)
        model._folder = folder
        return model


def _port(row: dict[str, Any]) -> Port:
    return Port(row["name"], row["kind"], tuple(row["shape"]), row["dtype"], row["updates"])


class _StoredWeights(Mapping[str, Any]):
    """The arrays of a file and the further names that they have."""

    def __init__(self, stored: SafeTensors, aliases: dict[str, str]) -> None:
        self._stored = stored
        self._aliases = aliases

    def __getitem__(self, name: str) -> Stored:
        return self._stored[self._aliases.get(name, name)]

    def __iter__(self) -> Iterator[str]:
        yield from self._stored
        yield from self._aliases

    def __len__(self) -> int:
        return len(self._stored) + len(self._aliases)


def bits_of(value: Any) -> tuple[np.ndarray[Any, Any], str]:
    """The array as unsigned integers or booleans of the same bytes, and MLIR's name of its element
    type. `value` is a torch tensor on the CPU, an array that numpy can read, or one of a file."""
    if isinstance(value, Stored):
        return value.bits, value.dtype.name
    if hasattr(value, "untyped_storage"):
        import torch
        name = name_of_torch(value.dtype)
        tensor = value.detach().contiguous()
        shape = tuple(tensor.shape)
        return tensor.reshape(-1).view(torch.uint8).numpy().view(
            DTYPES[name].bits).reshape(shape), name
    array = np.asarray(value)
    name = name_of_numpy(array.dtype)
    if name not in DTYPES:
        raise ExportError(f"expected an array of numbers, got elements of {name}")
    return np.ascontiguousarray(array).view(DTYPES[name].bits).reshape(array.shape), name


def _identity(value: Any) -> Any:
    """Equal for tensors that are the same part of one storage, in one order."""
    if hasattr(value, "untyped_storage"):
        return (value.data_ptr(), str(value.dtype), tuple(value.shape), tuple(value.stride()),
                value.numel() and value.untyped_storage().data_ptr())
    return id(value)


def has_same_bits(one: Any, other: Any) -> bool:
    """Whether two values of weights are of one type and have the same bits. They are read where they
    are not in one memory, or the same bytes of a file."""
    if _identity(one) == _identity(other) or (
            isinstance(one, Stored) and isinstance(other, Stored) and one.is_same(other)):
        return True
    (first, dtype), (second, other_dtype) = bits_of(one), bits_of(other)
    return dtype == other_dtype and is_equal(first, second)


def aliases_of(weights: Mapping[str, Any]) -> dict[str, str]:
    """The further names of tensors that have several, each with the tensor's first name."""
    first: dict[Any, str] = {}
    aliases: dict[str, str] = {}
    held: list[Any] = []  # keeps the ids of views alive that a mapping makes on demand
    for name, value in weights.items():
        held.append(value)
        key = _identity(value)
        if first.setdefault(key, name) != name:
            aliases[name] = first[key]
    return aliases


def _write_weights(path: str, weights: Mapping[str, Any]) -> dict[str, str]:
    """Writes each tensor under its first name. Returns the name of each further one."""
    aliases = aliases_of(weights)
    types = {mlir: stored for stored, mlir in NAMES.items()}
    header: dict[str, Any] = {}
    offset = 0
    names = [name for name in weights if name not in aliases]
    for name in names:
        value = weights[name]
        if isinstance(value, Stored):
            dtype, shape, size = value.dtype.name, value.shape, value.nbytes
        else:
            bits, dtype = bits_of(value)
            shape, size = bits.shape, bits.nbytes
        header[name] = {"dtype": types[dtype], "shape": list(shape),
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    write_whole(path, (part for parts in (
        [len(text).to_bytes(8, "little"), text], (bits_of(weights[name])[0] for name in names))
        for part in parts))
    return aliases
