"""Weights in .safetensors files: memory-mapped, so that a rank reads its slices alone."""
from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .dtypes import DTYPES, DType, values
from .errors import RunError, listed, near

NAMES = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I64": "i64", "I32": "i32",
          "I16": "i16", "I8": "i8", "BOOL": "i1", "F8_E4M3": "f8E4M3FN", "F8_E5M2": "f8E5M2",
          "F8_E4M3FNUZ": "f8E4M3FNUZ", "F8_E5M2FNUZ": "f8E5M2FNUZ",
          "U64": "u64", "U32": "u32", "U16": "u16", "U8": "u8"}
_MOST_HEADER_BYTES = 100_000_000


class Stored:
    """An array in a mapped file: its bits, as unsigned integers, and its elements' type."""

    def __init__(self, bits: np.ndarray[Any, Any], dtype: DType) -> None:
        self.bits = bits
        self.dtype = dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = np.asarray(values(self.bits, self.dtype), dtype)
        return array.copy() if copy else array

    def __repr__(self) -> str:
        return f"<{self.dtype.name}{list(self.bits.shape)} of a file>"


class SafeTensors(Mapping[str, Stored]):
    """The arrays of a .safetensors file, or of all files of an `.index.json`.

    Raises RunError where a file cannot be read, is damaged, or is of another format.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._arrays: dict[str, Stored] = {}
        self.files = [self.path]
        if self.path.endswith(".index.json"):
            self.files = self._files_of_index()
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

    def _read(self, path: str) -> None:
        try:
            size = os.path.getsize(path)
            with open(path, "rb") as file:
                head = file.read(8)
                length = int.from_bytes(head, "little")
                self._check_kind(path, head)
                if size < 8 or length > min(size - 8, _MOST_HEADER_BYTES):
                    raise RunError(f"{path}: no .safetensors file, or a cut one", code=3)
                header = json.loads(file.read(length))
        except OSError as error:
            raise RunError(f"{path}: {error.strerror}", code=2) from error
        except ValueError as error:
            raise RunError(f"{path}: its header is no JSON: no .safetensors file, or a damaged one",
                           code=3) from error
        start = 8 + length
        data = (np.memmap(path, np.uint8, "r", offset=0)[start:] if size > start
                else np.empty(0, np.uint8))
        if not isinstance(header, dict):
            raise RunError(f"{path}: its header is no JSON object", code=3)
        for name, row in header.items():
            if name == "__metadata__":
                continue
            if name in self._arrays:
                raise RunError(f"{path}: '{name}' is in another file of the index too", code=3)
            self._arrays[name] = self._array(path, name, row, data)

    @staticmethod
    def _check_kind(path: str, head: bytes) -> None:
        if head.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x04", b"\x80\x05")):
            raise RunError(
                f"{path}: expected .safetensors, got a file of torch.save: write "
                "safetensors.torch.save_file(torch.load(path), 'weights.safetensors')", code=3)
        if head.startswith(b"GGUF"):
            raise RunError(f"{path}: expected .safetensors, got a .gguf file", code=3)
        if head.startswith(b"\x93NUMPY"):
            raise RunError(f"{path}: expected .safetensors, got a .npy file", code=3)

    @staticmethod
    def _array(path: str, name: str, row: Any, data: np.ndarray[Any, Any]) -> Stored:
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
        count = 1
        for size in shape:
            count *= size
        if min(shape, default=0) < 0 or end - begin != count * dtype.size or begin < 0 or (
                end > len(data)):
            raise RunError(f"{path}: the data of '{name}' ends outside of the file, or does not "
                           "have the size of its shape: the file is cut or damaged", code=3)
        part = data[begin:end]
        if part.ctypes.data % dtype.size:
            part = part.copy()  # numpy computes on aligned arrays
        return Stored(part.view(dtype.bits).reshape(shape), dtype)
