"""What a program's artifact says of it, as tables and dicts that show themselves."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .artifact import Artifact, Port, by_name, layout_text, read_port
from .errors import plural, unknown_name
from .tables import Table
from .views.communication import Collectives

# Collectives of at most so many bytes cost latency alone; reports list them apart too.
_SCALAR_BYTES = 64


@dataclass(frozen=True)
class LayoutRow:
    """An argument or a result, and how the ranks hold it."""
    name: str
    kind: str
    type: str
    layout: str


_Value = TypeVar("_Value")


class _ShownMapping(Mapping[str, _Value]):
    """A mapping that shows itself as the table that `_table` makes. `_what` is what it has by
    name, in errors."""
    _what = ""

    def __init__(self, rows: dict[str, _Value]) -> None:
        self._rows = rows

    def _table(self) -> Table[Any]:
        raise NotImplementedError

    def __getitem__(self, name: str) -> _Value:
        if name not in self._rows:
            raise unknown_name(self._what, name, self._rows)
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


class Layouts(_ShownMapping[str]):
    """Layouts by the names of arguments and results: `{'wq.weight': 'tp: shard<0>'}`."""
    _what = "layout"

    def __init__(self, table: Table[LayoutRow]) -> None:
        super().__init__({row.name: row.layout for row in table})
        self.table = table

    def _table(self) -> Table[LayoutRow]:
        return self.table


@dataclass(frozen=True)
class MemoryRow:
    """A part of a rank's memory."""
    memory: str
    bytes: int


class Memory(_ShownMapping[int]):
    """Bytes that one rank holds, by what holds them; `.total` is their sum."""
    _what = "memory"

    @property
    def total(self) -> int:
        """Bytes of one rank."""
        return sum(self._rows.values())

    def _table(self) -> Table[MemoryRow]:
        rows = [MemoryRow(name, size) for name, size in self._rows.items()]
        return Table([*rows, MemoryRow("total", self.total)], ["memory", "bytes"],
                     "memory of one rank")


def collectives_table(artifact: Artifact) -> Collectives:
    """The collectives of a step, in order; one of a loop is a row, and runs `count` times."""
    large = [row for row in artifact.collectives if row.payload_bytes > _SCALAR_BYTES]
    count = sum(row.count for row in large)
    scalars = sum(row.count for row in artifact.collectives) - count
    total = sum(row.payload_bytes * row.count for row in large)
    ring = sum(row.ring_bytes_per_rank * row.count for row in large)
    title = (f"{plural(count, 'collective')} a step, {total:,} payload bytes, {ring:,} ring bytes "
             "per rank")
    if scalars:
        title += f", and {scalars:,} of at most {_SCALAR_BYTES} bytes"
    return Collectives(artifact.collectives, ["kind", "axes", "dtype", "payload_bytes",
                                              "ring_bytes_per_rank", "count", "module"], title)


def layouts_of(artifact: Artifact) -> Layouts:
    """How the ranks hold every argument and result. A result that has an argument's name goes by
    `kind:name`. A name of a tied weight that the program does not read has the layout of the one
    that it reads."""
    rows = []
    taken: set[str] = set()
    for ports in (artifact.arguments, artifact.results):
        for name, port in by_name(ports).items():
            if name in taken:
                name = f"{port.kind}:{port.name}"
            taken.add(name)
            rows.append(LayoutRow(name, port.kind, f"{port.dtype.name}{list(port.shape)}",
                                  layout_text(read_port(port, artifact), artifact.mesh)))
    return Layouts(Table(rows, ["name", "kind", "type", "layout"],
                         f"layouts on {artifact.mesh}"))


def memory_of(artifact: Artifact) -> Memory:
    """Bytes that one rank holds: the manifest's memory, and arguments and results as its layouts
    divide them. A result that is written in place has the memory of its argument."""
    rows = {"weights": 0, "inputs": 0, "results": 0}
    for port in artifact.arguments:
        if not port.dead:
            rows["weights" if port.is_weight else "inputs"] += local_bytes(port, artifact.mesh)
    for port in artifact.results:
        if not port.in_place:
            rows["results"] += local_bytes(port, artifact.mesh)
    for name in ("arena", "scratch", "constants"):
        rows[name] = int(artifact.memory.get(f"{name}_bytes", 0))
    if carried := artifact.memory.get("carried_bytes", 0):
        rows["carried by loops"] = carried
    return Memory(rows)


def local_bytes(port: Port, mesh: dict[str, int]) -> int:
    """Bytes of a rank's buffer of a port, padding included (docs/artifact.md, Layouts)."""
    pieces = {dim: [size] for dim, size in enumerate(port.shape)}
    for axis, placement in zip(list(mesh) + [""] * len(port.layout), port.layout):
        if "shard" not in placement:
            continue
        name = placement.get("axis", axis)
        ranks = mesh[name] if isinstance(name, str) else name[2]
        dim, unit = placement["shard"], placement.get("unit", 1)
        sizes = pieces[dim]
        if placement.get("segments") and sizes == [port.shape[dim]]:
            sizes = list(placement["segments"])
        pieces[dim] = [min(size, -(-(-(-size // unit)) // ranks) * unit) for size in sizes]
    total = port.dtype.size
    for sizes in pieces.values():
        total *= sum(sizes)
    return total


def summary(artifact: Artifact, inputs: list[Port], results: list[Port]) -> str:
    """`main on {'tp': 4}: 1 input, 1 result, 5 collectives of 163,840 bytes a step`."""
    total = sum(row.payload_bytes * row.count for row in artifact.collectives)
    count = plural(sum(row.count for row in artifact.collectives), "collective")
    sent = f"{count} of {total:,} bytes a step" if artifact.collectives else count
    kind = artifact.target.get("kind", "cpu")
    target = "" if kind == "cpu" else f", target {kind}"
    return (f"{artifact.entry} on {artifact.mesh or 'one rank'}: {plural(len(inputs), 'input')}, "
            f"{plural(len(results), 'result')}, {sent}{target}")
