"""Prints the elements of f32 .npy files, one file per line."""

import struct
import sys

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<H", data, 8)
    body = data[10 + size:]
    print(*(f"{x:.6g}" for x in struct.unpack(f"<{len(body) // 4}f", body)))
