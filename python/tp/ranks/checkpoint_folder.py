"""Folders of checkpoints: .safetensors files, and an index that makes them a checkpoint.

A folder has `model.safetensors.index.json`, as transformers writes it. Its `weight_map` has the
model's tensors. `metadata.tp` has what else goes on from step to step, and of every file its bytes
and its CRC-32. Files have new names with every checkpoint; the index is renamed into its place when
all of them are on the disk. So at every moment the folder is the old checkpoint or the new one.
"""
from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ..arrays import Bits
from ..errors import RunError, listed
from ..files import OpenFile, sync_folder, write_new, write_whole
from ..safetensors import SafeTensors, Stored

INDEX = "model.safetensors.index.json"
_VERSION = 1
_OWN = re.compile(r"(model|state)-[0-9a-f]{8}-\d{5}-of-\d{5}\.safetensors")
# What a writer that was killed leaves of an index or a shard.
_LEFT = re.compile(rf"({_OWN.pattern}|model\.safetensors\.index\.json)\.[0-9a-f]{{8}}\.part")


@dataclass
class Tensor:
    """A tensor to write. `read` is called once, in order."""
    key: str
    stored_type: str
    shape: tuple[int, ...]
    nbytes: int
    read: Callable[[], Bits]


@dataclass
class _Shard:
    name: str
    tensors: list[Tensor] = field(default_factory=list)


def write(folder: str | os.PathLike[str], model: Sequence[Tensor], state: Sequence[Tensor],
          most_bytes: int) -> None:
    """Writes a checkpoint with files of up to `most_bytes`. Raises RunError, and leaves the old one
    as it was."""
    folder = os.fspath(folder)
    with _locked(folder):
        number = secrets.token_hex(4)
        parts = {kind: _shards(kind, number, tensors, most_bytes)
                 for kind, tensors in (("model", model), ("state", state))}
        written: dict[str, dict[str, Any]] = {}
        try:
            for shard in [*parts["model"], *parts["state"]]:
                path = os.path.join(folder, shard.name)
                size, crc = write_new(path, _contents(shard))
                written[shard.name] = {"bytes": size, "crc32": f"{crc:08x}"}
            sync_folder(folder)
            maps = {kind: {tensor.key: shard.name for shard in shards for tensor in shard.tensors}
                    for kind, shards in parts.items()}
            own = {"version": _VERSION, "state": maps["state"], "files": written}
            index = {"metadata": {"total_size": sum(tensor.nbytes for tensor in model), "tp": own},
                     "weight_map": maps["model"]}
            write_whole(os.path.join(folder, INDEX),
                        [json.dumps(index, indent=1, ensure_ascii=False).encode()], durable=True)
        except BaseException:
            # An interrupt may have come when the new index was in its place.
            if not _may_be_named(folder, number):
                _remove(folder, [shard.name for shards in parts.values() for shard in shards])
            raise
        # What an old checkpoint, or a process that was killed, has left.
        _remove(folder, [name for name in os.listdir(folder)
                         if (_OWN.fullmatch(name) and name not in written)
                         or _LEFT.fullmatch(name)])


def _may_be_named(folder: str, number: str) -> bool:
    """False if the folder has no index that names files of this number."""
    try:
        with open(os.path.join(folder, INDEX), encoding="utf-8") as file:
            return f"-{number}-" in file.read()
    except FileNotFoundError:
        return False
    except OSError:
        return True


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """The folder, made if need be, as this process's alone."""
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)
            sync_folder(os.path.dirname(os.path.abspath(folder)))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise RunError(f"{folder}: cannot make the checkpoint's folder: {error.strerror}",
                       code=2) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RunError(f"{folder}: another process writes a checkpoint there: give each run a "
                           "folder of its own", code=2) from error
        yield
    finally:
        os.close(descriptor)


def _remove(folder: str, names: Sequence[str]) -> None:
    for name in names:
        with suppress(OSError):
            os.remove(os.path.join(folder, name))


def _shards(kind: str, number: str, tensors: Sequence[Tensor], most_bytes: int) -> list[_Shard]:
    shards: list[list[Tensor]] = []
    size = 0
    for tensor in tensors:
        if not shards or size + tensor.nbytes > most_bytes:
            shards.append([])
            size = 0
        shards[-1].append(tensor)
        size += tensor.nbytes
    return [_Shard(f"{kind}-{number}-{i + 1:05}-of-{len(shards):05}.safetensors", shard)
            for i, shard in enumerate(shards)]


def _contents(shard: _Shard) -> Iterator[bytes | Bits]:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor in shard.tensors:
        begin, end = end, end + tensor.nbytes
        header[tensor.key] = {"dtype": tensor.stored_type, "shape": list(tensor.shape),
                              "data_offsets": [begin, end]}
    table = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    table += b" " * (-len(table) % 8)
    yield len(table).to_bytes(8, "little") + table
    for tensor in shard.tensors:
        yield tensor.read()


@dataclass
class Checkpoint:
    """A checkpoint whose files are open and have been read once: what they hold is what was
    written.

    Attributes:
        model, state: the tensors by their keys.
    """
    folder: str
    model: dict[str, Stored]
    state: dict[str, Stored]


def read(folder: str | os.PathLike[str]) -> Checkpoint:
    """Opens a checkpoint and compares all checksums. Raises RunError where it is none, or is
    damaged."""
    folder = os.fspath(folder)
    for attempt in range(3):
        index = _open_index(folder)
        try:
            return _read_files(folder, index)
        except RunError:
            # A new checkpoint may have taken the place of this one meanwhile.
            with suppress(RunError):
                if attempt < 2 and _open_index(folder).identity != index.identity:
                    continue
            raise
    raise AssertionError("the last attempt returns or raises")


def _open_index(folder: str) -> OpenFile:
    path = os.path.join(folder, INDEX)
    if not os.path.isdir(folder):
        what = "is no folder" if os.path.exists(folder) else "does not exist"
        advice = (": load_state reads a file" if os.path.isfile(folder) else "")
        raise RunError(f"{folder}: {what}, expected a checkpoint's folder{advice}", code=2)
    if not os.path.exists(path):
        names = os.listdir(folder)
        why = (": it has files of a checkpoint that was never finished"
               if any(_OWN.fullmatch(name) for name in names) else "")
        raise RunError(f"{folder}: has no {INDEX}, expected a folder that save_checkpoint or "
                       f"tp-run --save-state wrote{why}", code=2)
    return OpenFile(path)


def _read_files(folder: str, index: OpenFile) -> Checkpoint:
    path = index.path

    def damaged(what: str) -> RunError:
        return RunError(f"{path}: {what}: the checkpoint is damaged", code=3)
    try:
        value = json.loads(index.read(0, index.size).tobytes())
    except ValueError as error:
        raise damaged("its text is no JSON") from error
    if not isinstance(value, dict) or not isinstance(value.get("weight_map"), dict):
        raise damaged("has no weight_map")
    metadata = value.get("metadata")
    own = metadata.get("tp") if isinstance(metadata, dict) else None
    if own is None:
        raise RunError(f"{path}: has the parameters of a model and no state of a training run: it "
                       f"is no checkpoint of tp; give it as weights='{folder}'", code=3)
    if not isinstance(own, dict) or not isinstance(own.get("version"), int):
        raise damaged("has no version in metadata.tp")
    if own["version"] != _VERSION:
        raise RunError(f"{path}: expected version {_VERSION} of a checkpoint, got "
                       f"{own['version']}: load it by the tp that wrote it", code=3)
    files, maps = own.get("files"), {"weight_map": value["weight_map"], "state": own.get("state")}
    if not isinstance(files, dict) or not isinstance(maps["state"], dict):
        raise damaged("has no files or no state in metadata.tp")
    for name, keys in maps.items():
        for key, file in keys.items():
            if not isinstance(file, str) or file not in files:
                raise damaged(f"{name} has '{key}' in {file!r}, which is none of its files")
    opened = {name: _open_file(folder, name, row, damaged) for name, row in files.items()}
    both = [key for key in maps["weight_map"] if key in maps["state"]]
    if both:
        raise damaged(f"has {listed(both)} twice")
    found: dict[str, dict[str, Stored]] = {"weight_map": {}, "state": {}}
    for name, keys in maps.items():
        for key, file in keys.items():
            if key not in opened[file]:
                raise damaged(f"{name} has '{key}' in '{file}', which does not have it")
            found[name][key] = opened[file][key]
    for file, tensors in opened.items():
        more = [key for key in tensors if maps["weight_map"].get(key, maps["state"].get(key)) != file]
        if more:
            raise damaged(f"'{file}' has {listed(more)}, which the index has not there")
    return Checkpoint(folder, found["weight_map"], found["state"])


def _open_file(folder: str, name: str, row: Any,
               damaged: Callable[[str], RunError]) -> Mapping[str, Stored]:
    if not name or "/" in name or name in (".", ".."):
        raise damaged(f"'{name}' is no name of a file in the same folder")
    if not (isinstance(row, dict) and isinstance(row.get("bytes"), int)
            and re.fullmatch("[0-9a-f]{8}", str(row.get("crc32")))):
        raise damaged(f"has no bytes or no crc32 of '{name}'")
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise RunError(f"{path}: is missing: the checkpoint is incomplete", code=3)
    file = OpenFile(path)
    if file.size != row["bytes"]:
        raise RunError(f"{path}: has {file.size:,} bytes, expected {row['bytes']:,}: the file is "
                       f"{'cut' if file.size < row['bytes'] else 'another one'}", code=3)
    crc = 0
    for part in file.parts():
        crc = zlib.crc32(part.data, crc)
    if f"{crc:08x}" != row["crc32"]:
        raise RunError(f"{path}: has the CRC-32 {crc:08x}, expected {row['crc32']}: the file is "
                       "damaged", code=3)
    return SafeTensors(path)
