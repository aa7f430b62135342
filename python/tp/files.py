"""Files that stay what they were when they were opened, and files that are written whole."""
from __future__ import annotations

import os
import secrets
import stat
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Union

import numpy as np

from .errors import Error, RunError

_PART_BYTES = 16 << 20
# How the names of files end that a folder of a model is read for.
_OF_MODELS = ("model.mlir", "ports.json", "stop.json", "config.json", ".safetensors", ".index.json")
Part = Union[bytes, "np.ndarray[Any, Any]"]


class OpenFile:
    """A regular file that is open from now on, and read part by part when the parts are needed.

    It is not mapped: a file that is cut would end the process. A file that is replaced or removed
    by name stays the old one; one that is written in place is a RunError that names it.
    """

    def __init__(self, path: str | os.PathLike[str], descriptor: int | None = None) -> None:
        """`descriptor`: an open one of the file, which belongs to this object from now on."""
        self.path = os.fspath(path)
        if descriptor is None:
            try:
                descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            except OSError as error:
                raise RunError(f"{self.path}: {error.strerror}", code=2) from error
        self.descriptor = descriptor
        weakref.finalize(self, os.close, self.descriptor)
        info = os.fstat(self.descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise RunError(f"{self.path}: expected a regular file", code=2)
        self._opened = info

    @property
    def size(self) -> int:
        """Bytes of the file when it was opened."""
        return self._opened.st_size

    @property
    def identity(self) -> tuple[int, int, int, int]:
        """The same for this file with these contents in any process."""
        info = self._opened
        return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns

    @property
    def name(self) -> str:
        """A path of the open file itself, in this process and those that inherit its descriptor."""
        return f"/proc/self/fd/{self.descriptor}"

    def read(self, offset: int, size: int) -> np.ndarray[Any, Any]:
        """A copy of these bytes; fewer where the file ends."""
        whole = np.empty(max(min(size, self.size - offset), 0), np.uint8)
        rest = whole.data
        try:
            while rest:
                count = os.preadv(self.descriptor, [rest], offset)
                if count == 0:
                    break
                rest, offset = rest[count:], offset + count
        except OSError as error:
            raise RunError(f"{self.path}: {error.strerror}", code=2) from error
        self.check()
        return whole

    def parts(self) -> Iterator[np.ndarray[Any, Any]]:
        """Copies of all bytes, one after another."""
        for offset in range(0, self.size, _PART_BYTES):
            yield self.read(offset, _PART_BYTES)

    def check(self) -> None:
        """Raises RunError where the file has changed since it was opened."""
        now = os.fstat(self.descriptor)
        if (now.st_size, now.st_mtime_ns) != (self._opened.st_size, self._opened.st_mtime_ns):
            raise self.changed()

    def changed(self) -> RunError:
        """The error for a file that has changed."""
        return RunError(f"{self.path}: the file has changed since it was loaded: load it again, and "
                        "replace files by renaming new ones, which leaves a loaded file as it is",
                        code=2)


def check_outputs(written: Iterable[str], read: Iterable[str]) -> None:
    """Raises RunError where a file that a command is told to write is one that it reads, or writes
    already, by whatever name. Of a folder that is read the files of a model count. Devices and
    FIFOs may have several uses."""
    known = {identity for path in read for identity in _identities(path)} - {None}
    for path in written:
        mine = _identity(path)
        if mine in known:
            raise RunError(f"{path}: it is read or written too, expected another file to write")
        if mine is not None:
            known.add(mine)


def _identities(path: str) -> Iterator[tuple[int, int] | str | None]:
    yield _identity(path)
    if os.path.isdir(path):
        for name in os.listdir(path):
            if name.endswith(_OF_MODELS):
                yield _identity(os.path.join(path, name))


def _identity(path: str) -> tuple[int, int] | str | None:
    """The same for all names of a file; None for what is neither a file nor to be made one."""
    try:
        info = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return (info.st_dev, info.st_ino) if stat.S_ISREG(info.st_mode) else None


def write_new(path: str, parts: Iterable[Part]) -> tuple[int, int]:
    """Writes a file that is not there yet, and brings it to the disk. Returns its bytes and its
    CRC-32. Raises RunError."""
    size = crc = 0

    def counted() -> Iterator[Part]:
        nonlocal size, crc
        for part in parts:
            size, crc = size + _bytes(part).nbytes, zlib.crc32(_bytes(part), crc)
            yield part
    try:
        _write(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, counted(), durable=True)
    except OSError as error:
        raise RunError(f"{path}: cannot write: {error.strerror}", code=2) from error
    return size, crc


def write_whole(path: str | os.PathLike[str], parts: Iterable[Part], *,
                durable: bool = False) -> None:
    """Writes a file whole or not at all: beside its place, then renamed. Links are followed, and
    devices and FIFOs written in place. If `durable`, the file is on the disk before it gets its
    name, and devices and FIFOs are refused. Raises RunError."""
    path = os.fspath(path)
    target = os.path.realpath(path)
    beside = f"{target}.{secrets.token_hex(4)}.part"
    try:
        mode = os.stat(path).st_mode if os.path.exists(path) else stat.S_IFREG
        if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):
            if durable:
                raise RunError(f"{path}: is a device or a FIFO, expected a file that is replaced as "
                               "a whole", code=2)
            _write(path, os.O_WRONLY | os.O_NOCTTY, parts)
            return
        if not stat.S_ISREG(mode) or os.path.exists(path) and not os.access(path, os.W_OK):
            os.close(os.open(path, os.O_WRONLY))  # fails, and the system says why
        try:
            _write(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, parts, durable)
            os.replace(beside, target)
            if durable:
                sync_folder(os.path.dirname(target))
        except BaseException:
            if os.path.exists(beside):
                os.remove(beside)
            raise
    except OSError as error:
        raise RunError(f"{path}: cannot write: {error.strerror}", code=2) from error


def sync_folder(path: str) -> None:
    """So that a new name outlives a loss of power."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(path: str, flags: int, parts: Iterable[Part], durable: bool = False) -> None:
    with open(os.open(path, flags | os.O_CLOEXEC, 0o666), "wb", buffering=0) as file:
        for part in parts:
            rest = _bytes(part)
            while rest:
                rest = rest[file.write(rest):]
        if durable:
            os.fsync(file.fileno())


def link_paths(link: Any, failure: type[Error]) -> tuple[str, ...]:
    """The libraries of a `link` argument. Raises `failure`."""
    paths = [] if link is None else [link] if isinstance(link, (str, os.PathLike)) else link
    if not isinstance(paths, Sequence) or not all(
            isinstance(path, (str, os.PathLike)) for path in paths):
        raise failure(f"link: expected a path of a library, or a list of them, got {link!r}")
    for path in paths:
        if not os.path.exists(path):
            raise failure(f"link: no file {os.fspath(path)!r}")
    return tuple(os.path.abspath(path) for path in paths)


def _bytes(part: Part) -> memoryview:
    return memoryview(part) if isinstance(part, bytes) else np.ascontiguousarray(part).reshape(
        -1).view(np.uint8).data
