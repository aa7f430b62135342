"""What an artifact says of itself: its manifest (docs/artifact.md), read without opening its code."""
from __future__ import annotations

import json
import os
import struct
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from .dtypes import DTYPES, DType
from .errors import RunError, listed, unknown_name
from .files import OpenFile

_MAGIC = b"TPARTIF\0"
# Magic, version, number of sections, bytes; then of each section name, offset, bytes, checksum.
_HEAD, _SECTION = struct.Struct("<8sIIQ"), struct.Struct("<16sQQQ")
_VERSION, _MOST_SECTIONS = 1, 1024
_WEIGHT_KINDS = ("parameter", "buffer", "constant_tensor")


@dataclass(frozen=True)
class Segment:
    """A tensor of the weight files that is a part of an argument, at `offset`."""
    source_keys: tuple[str, ...]
    shape: tuple[int, ...]
    offset: tuple[int, ...]


@dataclass(frozen=True)
class Port:
    """An argument or result: `index` counts them by the entry's signature."""
    index: int
    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: DType
    layout: tuple[dict[str, Any], ...]
    # The same for the arguments of all entries that are one tensor.
    tensor: tuple[str, int] = ("", -1)
    source_keys: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    updates: str | None = None
    dead: bool = False
    # Of a weight that is rounded to `dtype` when it is loaded: the model's type.
    rounded_from: DType | None = None
    # Of a result: whether its memory is that of the argument that it updates.
    in_place: bool = False

    @property
    def is_weight(self) -> bool:
        """Whether it stays on the ranks from step to step, and is read from weight files."""
        return self.kind in _WEIGHT_KINDS or self.is_optimizer_state

    @property
    def is_optimizer_state(self) -> bool:
        """True for a state that an optimizer keeps of a parameter."""
        return self.kind.startswith("opt_")

    @property
    def is_partial(self) -> bool:
        """Whether the ranks' numbers have to be reduced to those of the array."""
        return any("partial" in axis for axis in self.layout)

    @property
    def is_cut(self) -> bool:
        """Whether a rank may have a part of the array alone."""
        return any("shard" in axis for axis in self.layout)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        count = self.dtype.size
        for size in self.shape:
            count *= size
        return count

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype.name}{list(self.shape)}"


@dataclass(frozen=True)
class Collective:
    """A collective of a step; bytes are those of one run, per rank."""
    kind: str
    axes: str
    ranks: int
    dtype: str
    payload_bytes: int
    wire_bytes: int
    ring_bytes_per_rank: int
    count: int
    module: str
    location: str
    reason: str


@dataclass
class Artifact:
    """The parts of an artifact's manifest that the package uses, of one of its entries.

    Attributes:
        links: libraries with functions that compute ops, of the first entry.
    """
    path: str
    target: dict[str, Any]
    mesh: dict[str, int]
    entry: str
    arguments: list[Port]
    results: list[Port]
    collectives: list[Collective]
    memory: dict[str, int]
    manifest: dict[str, Any] = field(repr=False)
    links: tuple[str, ...] = ()
    entries: dict[str, Artifact] = field(init=False, repr=False)
    file: OpenFile = field(init=False, repr=False)
    head: bytes = field(init=False, repr=False)

    def check_unchanged(self) -> None:
        """Raises RunError unless the file holds what the manifest was read from: the table at its
        start has the checksums of all sections."""
        self.file.check()
        if self.file.read(0, len(self.head)).tobytes() != self.head:
            raise self.file.changed()

    @property
    def size(self) -> int:
        """The number of ranks."""
        ranks = 1
        for size in self.mesh.values():
            ranks *= size
        return ranks

    @property
    def is_cuda(self) -> bool:
        """Whether ranks run on devices."""
        return bool(self.target.get("kind", "cpu") == "cuda")

    @property
    def unique_names(self) -> dict[str, Port]:
        """Arguments by the names that they go by: `name` where it is unique, else `kind:name`."""
        return by_name(self.arguments)

    def all_arguments(self) -> list[Port]:
        """The arguments of all entries, those that several share once."""
        return list({port.tensor: port for entry in self.entries.values()
                     for port in entry.arguments}.values())

    def returned(self) -> list[Port]:
        """The results that update no argument."""
        fed = {result.index for result, _ in self.update_pairs()}
        return [port for port in self.results if port.index not in fed]

    def update_pairs(self) -> list[tuple[Port, Port]]:
        """Pairs of a result and the argument whose next value it is."""
        pairs = []
        for result in self.results:
            argument = self._updated_by(result)
            if argument is not None:
                if (argument.shape, argument.dtype) != (result.shape, result.dtype):
                    raise RunError(f"{self.path}: result '{result.name}' updates '{argument.name}' "
                                   f"but is {result}, expected {argument}", code=3)
                if self._placements(argument) != self._placements(result):
                    raise RunError(
                        f"result '{result.name}' has the layout {layout_text(result, self.mesh)}, "
                        f"and the argument that it updates {layout_text(argument, self.mesh)}: a "
                        "step cannot feed the next one: pin both alike in the plan, or neither",
                        code=4)
                pairs.append((result, argument))
        return pairs

    def _placements(self, port: Port) -> list[dict[str, Any]]:
        """One placement per axis; the manifest leaves replicated arrays' out."""
        return [dict(placement) for placement in port.layout] or [{} for _ in self.mesh]

    def _updated_by(self, result: Port) -> Port | None:
        if result.updates is not None:
            return find(self.arguments, result.updates, f"{self.path}: argument")
        if not result.kind.startswith("new_"):
            return None
        kind = result.kind.removeprefix("new_")
        for argument in self.arguments:
            if argument.name == result.name and argument.kind in (kind, "opt_" + kind):
                return argument
        return None


def by_name(ports: list[Port]) -> dict[str, Port]:
    """The ports by the names that they go by, which are those of a Model's weights: `kind:name` for
    optimizer state, and where several other ports have one name."""
    others = Counter(port.name for port in ports if not port.is_optimizer_state)
    return {f"{port.kind}:{port.name}" if port.is_optimizer_state or others[port.name] > 1
            else port.name: port for port in ports}


def find(ports: list[Port], name: str, what: str) -> Port:
    """The port called `name` or `kind:name`; of a tied weight, whose names weight files may all
    have, the port that the program reads. Raises RunError with the near names."""
    named = by_name(ports)
    port = named.get(name)
    if port is None or port.dead:
        port = next((tied for tied in ports if name in tied.source_keys and not tied.dead), port)
    if port is not None:
        return port
    found = [port for port in ports if name in (port.name, f"{port.kind}:{port.name}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise RunError(f"{what} '{name}': expected one of "
                       f"{listed(f'{port.kind}:{port.name}' for port in found)}, which all have "
                       "this name")
    raise unknown_name(what, name, named)


def read_port(port: Port, artifact: Artifact) -> Port:
    """The argument that the program reads for this port: of a tied weight one with its names."""
    if not port.dead:
        return port
    return next((other for other in artifact.arguments
                 if not other.dead and set(other.source_keys) & set(port.source_keys)), port)


def read(path: str | os.PathLike[str], descriptor: int | None = None) -> Artifact:
    """Reads the manifest; opens no code, so it is safe on any file. `descriptor` is of the file,
    where it is open already. Raises RunError."""
    path = os.fspath(path)
    if os.path.isdir(path):
        raise RunError(f"{path}: expected an artifact, got a folder: tp.compile compiles a folder "
                       "of a model", code=2)
    file = OpenFile(path, descriptor)
    head = _checked_head(file)
    text = _manifest_text(file, head)
    try:
        artifact = parse(path, json.loads(text))
        for entry in artifact.entries.values():
            entry.file, entry.head = file, head
        return artifact
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise RunError(f"{path}: its manifest has the right checksum, but is none of this version of "
                       "tp: compile the model again", code=3) from error


def is_artifact(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as an artifact does."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _checked_head(file: OpenFile) -> bytes:
    """The header and the table of sections of a file that has the size and the version that it
    states. Raises RunError."""
    head = file.read(0, _HEAD.size).tobytes()
    if head[:8] != _MAGIC:
        advice = (": tp.compile compiles it" if file.path.endswith(".mlir") else
                  "; tp.load loads what tp.compile and tp-compile -o write")
        raise RunError(f"{file.path}: no artifact of tp{advice}", code=3)
    if len(head) < _HEAD.size:
        raise RunError(f"{file.path}: truncated artifact: the header has {_HEAD.size} bytes, the "
                       f"file {file.size}", code=3)
    _, version, sections, size = _HEAD.unpack(head)
    if version != _VERSION:
        advice = ("a newer tp wrote it: install that one, or compile the model again with this one"
                  if version > _VERSION else "an older tp wrote it: compile the model again")
        raise RunError(f"{file.path}: artifact version {version}, expected {_VERSION}: {advice}",
                       code=4)
    if size != file.size:
        kind = "truncated" if file.size < size else "damaged"
        raise RunError(f"{file.path}: {kind} artifact: its header states {size} bytes, the file has "
                       f"{file.size}", code=3)
    if sections > _MOST_SECTIONS or _HEAD.size + sections * _SECTION.size > size:
        raise RunError(f"{file.path}: damaged artifact: no room for a table of {sections} sections",
                       code=3)
    return file.read(0, _HEAD.size + sections * _SECTION.size).tobytes()


def _manifest_text(file: OpenFile, head: bytes) -> bytes:
    """The bytes of the manifest, which have the checksum of the table. The runtime checks the other
    sections before it opens them. Raises RunError."""
    from ._runtime import checksum
    for number, (name, offset, size, expected) in enumerate(
            _SECTION.iter_unpack(head[_HEAD.size:])):
        if name.rstrip(b"\0") != b"manifest":
            continue
        damaged = f"{file.path}: damaged artifact: section {number} 'manifest' "
        if offset < len(head) or offset + size > file.size:
            raise RunError(f"{damaged}does not lie inside the file", code=3)
        text = file.read(offset, size)
        if checksum(text) != expected:
            raise RunError(f"{damaged}does not have the checksum that the table states", code=3)
        return text.tobytes()
    raise RunError(f"{file.path}: the file has no manifest", code=3)


def parse(path: str, manifest: dict[str, Any]) -> Artifact:
    """The parts of a manifest that the package uses: its first entry, which has the others."""
    if manifest.get("version") != 2:
        raise RunError(f"{path}: expected manifest version 2, got {manifest.get('version')}: "
                       "compile the model again", code=4)
    entries = {entry["name"]: _entry(path, manifest, number, entry)
               for number, entry in enumerate(manifest["entries"]) if "part_of" not in entry}
    for artifact in entries.values():
        artifact.entries = entries
    return next(iter(entries.values()))


def _entry(path: str, manifest: dict[str, Any], number: int, entry: dict[str, Any]) -> Artifact:
    """An entry that hosts run, with the collectives of its parts, which are its loops."""
    parts = [part for part in manifest["entries"] if part.get("part_of") == number]
    axes = manifest.get("mesh", {}).get("axes", [])
    weights = manifest.get("arguments", [])
    rows = ([dict(row, kind=row.get("kind", "parameter")) for row in weights]
            + [dict(row, kind=row.get("kind", "user_input")) for row in entry.get("inputs", [])])
    order = entry.get("signature", range(len(rows)))
    owner = [("" if number < len(weights) else entry["name"], number)
             for number in range(len(rows))]
    return Artifact(
        path=path, target=manifest.get("target", {"kind": "cpu"}),
        mesh={axis["name"]: axis["size"] for axis in axes}, entry=entry["name"],
        arguments=[replace(_port(index, rows[number]), tensor=owner[number])
                   for index, number in enumerate(order)],
        results=[_port(index, dict(row, kind=row.get("kind", "user_output")))
                 for index, row in enumerate(entry.get("results", []))],
        collectives=[row for part in (*parts, entry) for row in _collectives(manifest, part)],
        memory=_memory(entry, parts),
        manifest=manifest)


def _memory(entry: dict[str, Any], parts: list[dict[str, Any]]) -> dict[str, int]:
    """Of an entry and its parts, which run one after another in the same arena."""
    plans = [part.get("memory", {}) for part in (entry, *parts)]
    most = {name: max(int(plan.get(name, 0)) for plan in plans)
            for name in ("arena_bytes", "scratch_bytes")}
    return {**entry.get("memory", {}), **most,
            "constants_bytes": sum(int(plan.get("constants_bytes", 0)) for plan in plans),
            "carried_bytes": sum(int(value["bytes"]) for value in entry.get("carried", ()))}


def _port(index: int, row: dict[str, Any]) -> Port:
    keys = tuple(row.get("source_keys", ()))
    if not keys:
        keys = ((f"{row['kind']}:{row['name']}",) if row["kind"].startswith("opt_")
                else (row["name"],))
    segments = tuple(Segment(tuple(part["source_keys"]), tuple(part["shape"]),
                             tuple(part["offset"])) for part in row.get("segments", ()))
    return Port(index, row["name"], row["kind"], tuple(row["shape"]), DTYPES[row["dtype"]],
                tuple(row.get("layout", ())), ("", -1), keys, segments, row.get("updates"),
                bool(row.get("dead", False)),
                DTYPES[row["rounded_from"]] if "rounded_from" in row else None,
                bool(row.get("in_place", False)))


def axis_text(axis: Any) -> str:
    """`tp`, or `tp[2:4]`: a sub-axis of 4 below a major one of 2."""
    return axis if isinstance(axis, str) else f"{axis[0]}[{axis[1]}:{axis[2]}]"


def _collectives(manifest: dict[str, Any], entry: dict[str, Any]) -> list[Collective]:
    sizes = {axis["name"]: axis["size"] for axis in manifest.get("mesh", {}).get("axes", [])}
    groups = {group["id"]: group["axes"] for group in manifest.get("groups", [])}
    rows = []
    for row in entry.get("collectives", []):
        axes = groups[row["group"]]
        ranks = 1
        for axis in axes:
            ranks *= sizes[axis] if isinstance(axis, str) else axis[2]
        rows.append(Collective(
            row["kind"], ", ".join(axis_text(axis) for axis in axes), ranks, row["dtype"],
            row.get("payload_bytes", row["wire_bytes"]), row["wire_bytes"],
            row.get("ring_bytes_per_rank", 0), row.get("count", 1), row.get("module", ""),
            row.get("location", ""), row.get("reason", "")))
    return rows


def layout_text(port: Port, mesh: dict[str, int]) -> str:
    """`tp: shard<0>`, one placement per axis of the mesh."""
    parts = []
    for axis, placement in zip(list(mesh) + [""] * len(port.layout), port.layout):
        text = "replicate"
        if "partial" in placement:
            text = f"partial<{placement['partial']}>"
        if "shard" in placement:
            segments = placement.get("segments")
            more = f", segments = {segments}" if segments else ""
            text = f"shard<{placement['shard']}{more}>"
        parts.append(f"{axis_text(placement.get('axis', axis))}: {text}")
    return ", ".join(parts) if parts else "replicate"
