""".npy files whose elements are given and returned as bytes."""

import struct


def write(path, descr, shape, data):
    """`descr` is the element type in the header."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    # The elements begin at a multiple of 64 bytes.
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def read(path):
    """The elements."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<H", data, 8)
    return data[10 + size:]
