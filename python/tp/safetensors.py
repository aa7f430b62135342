"""Weights in .safetensors files, each read when a rank needs it."""
from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .dtypes import DTYPES, DType, values
from .errors import RunError, listed, near
from .files import OpenFile

NAMES = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I64": "i64", "I32": "i32",
          "I16": "i16", "I8": "i8", "BOOL": "i1", "F8_E4M3": "f8E4M3FN", "F8_E5M2": "f8E5M2",
          "F8_E4M3FNUZ": "f8E4M3FNUZ", "F8_E5M2FNUZ": "f8E5M2FNUZ",
          "U64": "u64", "U32": "u32", "U16": "u16", "U8": "u8"}
_MOST_HEADER_BYTES = 100_000_000


class Stored:
    """An array in a file: its place, its shape and its elements' type. Its bits are read with every
    use."""

    def __init__(self, file: OpenFile, offset: int, shape: tuple[int, ...], dtype: DType) -> None:
        self.shape = shape
        self.dtype = dtype
        self._file = file
        self.offset = offset

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        return math.prod(self.shape) * self.dtype.size

    @property
    def bits(self) -> np.ndarray[Any, Any]:
        """A copy of the elements as unsigned integers. Raises RunError where the file has changed
        since it was opened."""
        read = self._file.read(self.offset, self.nbytes)
        return read.view(self.dtype.bits).reshape(self.shape)

    def is_same(self, other: Stored) -> bool:
        """Whether both are the same bytes of one open file."""
        return self._file is other._file and self.offset == other.offset

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = np.asarray(values(self.bits, self.dtype), dtype)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        return f"<{self.dtype.name}{list(self.shape)} of a file>"


class SafeTensors(Mapping[str, Stored]):
    """The arrays of a .safetensors file, or of all files of an `.index.json`.

    Raises RunError where a file cannot be read, is damaged, or is of another format.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._arrays: dict[str, Stored] = {}
        names = self._files_of_index() if self.path.endswith(".index.json") else [self.path]
        self.files = [OpenFile(name) for name in names]
        for file in self.files:
            self._read(file)

    def __getitem__(self, name: str) -> Stored:
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(f"{self.path} has no '{name}'{near(name, self._arrays)}") from None

    def __contains__(self, name: object) -> bool:
        # Mapping's own would look for near names of every name that is missing.
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"<tp.SafeTensors {self.path}: {len(self)} arrays>"

    def _files_of_index(self) -> list[str]:
        try:
            with open(self.path, encoding="utf-8") as file:
                names = set(json.load(file)["weight_map"].values())
        except OSError as error:
            raise RunError(f"{self.path}: {error.strerror}", code=2) from error
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise RunError(f"{self.path}: expected an index with a weight_map", code=3) from error
        return [os.path.join(os.path.dirname(self.path), name) for name in sorted(names)]

    def _read(self, file: OpenFile) -> None:
        path = file.path
        head = file.read(0, 9).tobytes()
        length = int.from_bytes(head[:8], "little")
        self._check_kind(path, head)
        if file.size < 8 or length > min(file.size - 8, _MOST_HEADER_BYTES):
            raise RunError(f"{path}: no .safetensors file, or a cut one", code=3)
        try:
            header = json.loads(file.read(8, length).tobytes())
        except ValueError as error:
            raise RunError(f"{path}: its header is no JSON: no .safetensors file, or a damaged one",
                           code=3) from error
        if not isinstance(header, dict):
            raise RunError(f"{path}: its header is no JSON object", code=3)
        boxes: list[tuple[int, int, str]] = []
        for name, row in header.items():
            if name == "__metadata__":
                continue
            if name in self._arrays:
                raise RunError(f"{path}: '{name}' is in another file of the index too", code=3)
            self._arrays[name] = self._array(file, 8 + length, name, row)
            boxes.append((self._arrays[name].offset, self._arrays[name].nbytes, name))
        self._check_coverage(file, 8 + length, boxes)

    @staticmethod
    def _check_coverage(file: OpenFile, start: int, boxes: list[tuple[int, int, str]]) -> None:
        """Refuses data that is of no array or of two."""
        end, before = start, ""
        for offset, size, name in [*sorted(box for box in boxes if box[1]), (file.size, 0, "")]:
            if offset < end:
                raise RunError(f"{file.path}: '{before}' and '{name}' overlap", code=3)
            if offset > end:
                raise RunError(f"{file.path}: bytes {end - start} to {offset - start} of its data "
                               "belong to no array: the file is damaged", code=3)
            end, before = offset + size, name

    @staticmethod
    def _check_kind(path: str, head: bytes) -> None:
        # The length of a header may look like the first bytes of a pickle.
        if head[8:9] != b"{" and head.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x04",
                                                 b"\x80\x05")):
            raise RunError(
                f"{path}: expected .safetensors, got a file of torch.save: write "
                "safetensors.torch.save_file(torch.load(path), 'weights.safetensors')", code=3)
        if head.startswith(b"GGUF"):
            raise RunError(f"{path}: expected .safetensors, got a .gguf file", code=3)
        if head.startswith(b"\x93NUMPY"):
            raise RunError(f"{path}: expected .safetensors, got a .npy file", code=3)

    @staticmethod
    def _array(file: OpenFile, start: int, name: str, row: Any) -> Stored:
        path = file.path
        try:
            dtype = DTYPES[NAMES[row["dtype"]]]
            shape = tuple(int(size) for size in row["shape"])
            begin, end = (int(offset) for offset in row["data_offsets"])
        except KeyError as error:
            if error.args[0] == row.get("dtype"):
                raise RunError(f"{path}: '{name}' has elements of {row['dtype']}, expected one of "
                               f"{listed(NAMES, 20)}", code=4) from error
            raise RunError(f"{path}: '{name}' has no {error}", code=3) from error
        except (TypeError, ValueError, AttributeError) as error:
            raise RunError(f"{path}: the header's row of '{name}' is damaged", code=3) from error
        stored = Stored(file, start + begin, shape, dtype)
        if min(shape, default=0) < 0 or end - begin != stored.nbytes or begin < 0 or (
                start + end > file.size):
            raise RunError(f"{path}: the data of '{name}' ends outside of the file, or does not "
                           "have the size of its shape: the file is cut or damaged", code=3)
        return stored
