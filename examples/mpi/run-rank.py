#!/usr/bin/env python3
"""One rank of a program that tp-lower-to-mpi and upstream's passes made a shared library.

    mpirun -n 4 run-rank.py PROGRAM.so MODEL.tp --weights=FILE --input=NAME=@FILE.npy
        --expected-output=NAME=@FILE.npy

MODEL.tp is the artifact of the same program. Only its description of arguments and results is
used: which part of a tensor a rank holds. Tensors that no option names are zero. Each rank
compares its part of the results and exits with 1 if one differs.

`main` of the library takes a pointer per argument, then one per result, each to a rank's
row-major elements. The ranks call it --steps times, with the same arguments.
"""
from __future__ import annotations

import argparse
import ast
import ctypes
import json
import math
import os
import struct
import sys

# dtype of runtime/include/tp/Runtime/Runtime.h -> npy's and safetensors' names, struct's code, and
# bytes per element.
TYPES = {0: ("<f8", "F64", "d", 8), 1: ("<f4", "F32", "f", 4), 4: ("<i8", "I64", "q", 8),
         5: ("<i4", "I32", "i", 4), 6: ("<i2", "I16", "h", 2), 7: ("|i1", "I8", "b", 1),
         8: ("|b1", "BOOL", "b", 1), 9: ("<i8", "I64", "q", 8)}
ARGUMENT, RESULT = 0, 1


class Tensor(ctypes.Structure):
    """tp_tensor."""
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 16), ("strides", ctypes.c_int64 * 16),
                ("space", ctypes.c_int32), ("device", ctypes.c_int32)]

    def allocate(self) -> ctypes.Array[ctypes.c_char]:
        """Zeroed row-major elements, which the tensor points to."""
        shape = self.shape()
        for dim in range(self.rank):
            self.strides[dim] = math.prod(shape[dim + 1:])
        elements = ctypes.create_string_buffer(max(1, math.prod(shape) * TYPES[self.dtype][3]))
        self.data = ctypes.addressof(elements)
        return elements

    def shape(self) -> list[int]:
        """The sizes of all dimensions, in elements."""
        return list(self.sizes[:self.rank])


class PortInfo(ctypes.Structure):
    """tp_port_info."""
    _fields_ = [("struct_size", ctypes.c_uint32), ("dead", ctypes.c_int32),
                ("kind", ctypes.c_char_p), ("updates", ctypes.c_int64), ("local", Tensor)]


class Ports:
    """Arguments and results of an artifact, through the runtime's C ABI."""

    def __init__(self, runtime: str, path: str) -> None:
        self.library = ctypes.CDLL(runtime)
        self.library.tp_artifact_port_name.restype = ctypes.c_char_p
        self.library.tp_status_message.restype = ctypes.c_char_p
        self.library.tp_artifact_size.restype = ctypes.c_int64
        self.library.tp_artifact_num_ports.restype = ctypes.c_int64
        for call in ("open", "port", "port_info"):
            getattr(self.library, f"tp_artifact_{call}").restype = ctypes.c_void_p
        for call in ("tp_scatter", "tp_assemble"):
            getattr(self.library, call).restype = ctypes.c_void_p
        self.artifact = ctypes.c_void_p()
        self.check(self.library.tp_artifact_open(path.encode(), ctypes.byref(self.artifact)))

    def check(self, status: int | None) -> None:
        """Ends the program if a call of the runtime failed."""
        if status:
            sys.exit(self.library.tp_status_message(ctypes.c_void_p(status)).decode())

    def ranks(self) -> int:
        """The number of ranks that the program is for."""
        return self.library.tp_artifact_size(self.artifact)

    def count(self, side: int) -> int:
        """The number of arguments or results."""
        return self.library.tp_artifact_num_ports(self.artifact, side)

    def name(self, side: int, index: int) -> str:
        """The port's name."""
        return self.library.tp_artifact_port_name(
            self.artifact, side, ctypes.c_int64(index)).decode()

    def tensors(self, side: int, index: int) -> tuple[Tensor, Tensor]:
        """The whole tensor and a rank's, without elements."""
        whole, info = Tensor(), PortInfo(struct_size=ctypes.sizeof(PortInfo))
        position = ctypes.c_int64(index)
        self.check(self.library.tp_artifact_port(
            self.artifact, side, position, ctypes.byref(whole)))
        self.check(self.library.tp_artifact_port_info(
            self.artifact, side, position, ctypes.byref(info)))
        if whole.dtype not in TYPES:
            sys.exit(f"{self.name(side, index)} has elements of 16 bits or fewer, which are not read")
        return whole, info.local

    def scatter(self, index: int, rank: int, whole: Tensor, local: Tensor) -> None:
        """Copies a rank's part of an argument into its tensor."""
        self.check(self.library.tp_scatter(
            self.artifact, ARGUMENT, ctypes.c_int64(index), ctypes.c_int64(rank),
            ctypes.byref(whole), ctypes.byref(local)))

    def assemble(self, index: int, rank: int, local: Tensor, whole: Tensor) -> None:
        """Copies a rank's part of a result into the whole tensor."""
        self.check(self.library.tp_assemble(
            self.artifact, RESULT, ctypes.c_int64(index), ctypes.c_int64(rank),
            ctypes.byref(local), ctypes.byref(whole)))


def read_npy(path: str) -> tuple[str, list[int], bytes]:
    """The element type, the shape and the elements of a .npy file."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10:10 + size].decode())
    return header["descr"], list(header["shape"]), data[10 + size:]


def read_safetensors(path: str) -> dict[str, tuple[str, list[int], bytes]]:
    """The element type, the shape and the elements of every tensor of a .safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<Q", data)
    elements = data[8 + size:]
    return {name: (entry["dtype"], entry["shape"], elements[slice(*entry["data_offsets"])])
            for name, entry in json.loads(data[8:8 + size]).items() if name != "__metadata__"}


def elements_of(name: str, tensor: Tensor, file: tuple[str, list[int], bytes]) -> bytes:
    """The elements in the file, if its type and shape are the tensor's."""
    dtype, shape, data = file
    if dtype not in TYPES[tensor.dtype][:2] or shape != tensor.shape():
        sys.exit(f"{name}: the file has {dtype}{shape}, the program expects "
                 f"{TYPES[tensor.dtype][0]}{tensor.shape()}")
    return data


def is_equal(expected: bytes, got: bytes, code: str, atol: float, rtol: float) -> bool:
    """Whether all elements are within their bounds. NaN is equal to NaN alone."""
    return all(a == b or (a != a and b != b) or abs(a - b) <= atol + rtol * abs(a)
               for (a,), (b,) in zip(struct.iter_unpack("<" + code, expected),
                                     struct.iter_unpack("<" + code, got), strict=True))


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("artifact")
    parser.add_argument("--weights")
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--expected-output", action="append", default=[])
    parser.add_argument("--atol", type=float, default=1e-5)
    parser.add_argument("--rtol", type=float, default=1e-4)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--runtime", default="libtp_runtime.so", help="the library of tp's runtime")
    return parser.parse_args()


def files_of(options: list[str]) -> dict[str, tuple[str, list[int], bytes]]:
    """The tensors that options NAME=@FILE name."""
    return {name: read_npy(path) for name, path in (option.split("=@") for option in options)}


def main() -> int:
    options = parse_options()
    ports = Ports(options.runtime, options.artifact)
    # The library brings MPI along. Open MPI's plugins look for its symbols globally.
    program = ctypes.CDLL(os.path.abspath(options.program), mode=ctypes.RTLD_GLOBAL)
    program.MPI_Init(None, None)
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0")))

    files = read_safetensors(options.weights) if options.weights else {}
    files.update(files_of(options.input))
    kept: list[object] = []
    pointers = []
    for index in range(ports.count(ARGUMENT)):
        whole, local = ports.tensors(ARGUMENT, index)
        kept += [elements := whole.allocate(), local.allocate()]
        name = ports.name(ARGUMENT, index)
        if name in files:
            data = elements_of(name, whole, files[name])
            ctypes.memmove(elements, data, len(data))
        ports.scatter(index, rank, whole, local)
        pointers.append(ctypes.c_void_p(local.data))
    results = [ports.tensors(RESULT, index) for index in range(ports.count(RESULT))]
    for _, local in results:
        kept.append(local.allocate())
        pointers.append(ctypes.c_void_p(local.data))

    for _ in range(options.steps):
        program.main(*pointers)

    wrong = 0
    expected_files = files_of(options.expected_output)
    for index, (whole, local) in enumerate(results):
        name = ports.name(RESULT, index)
        if name not in expected_files:
            continue
        elements = whole.allocate()
        expected = elements_of(name, whole, expected_files[name])
        ctypes.memmove(elements, expected, len(expected))
        ports.assemble(index, rank, local, whole)
        equal = is_equal(expected, elements.raw[:len(expected)], TYPES[whole.dtype][2],
                         options.atol, options.rtol)
        wrong += not equal
        # One write for the line, because all ranks print.
        sys.stdout.write(f"rank {rank} of {ports.ranks()}: {name} is "
                         f"{'equal' if equal else 'different'}\n")
        sys.stdout.flush()
    program.MPI_Finalize()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
