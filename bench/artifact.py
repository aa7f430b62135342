"""Reads and writes the container of an artifact (docs/artifact.md)."""

import json
import struct

HEADER, ENTRY = "<8sIIQ", "<16sQQQ"


def checksum(data):
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def read(path):
    """The sections of an artifact: name to bytes."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, count, size = struct.unpack_from(HEADER, data)
    if magic != b"TPARTIF\0" or version != 1 or size != len(data):
        raise SystemExit(f"{path}: not an artifact of version 1")
    sections = {}
    for i in range(count):
        name, offset, size, _ = struct.unpack_from(
            ENTRY, data, struct.calcsize(HEADER) + i * struct.calcsize(ENTRY))
        sections[name.rstrip(b"\0").decode()] = data[offset:offset + size]
    return sections


def manifest(path):
    return json.loads(read(path)["manifest"])


def entry(path):
    """The only entry of an artifact, and its "arguments" in the order of its signature."""
    whole = manifest(path)
    if len(whole["entries"]) != 1:
        raise SystemExit(f"{path}: expected one entry, got {len(whole['entries'])}")
    found = whole["entries"][0]
    ports = whole["arguments"] + found["inputs"]
    found["arguments"] = [ports[i] for i in found.get("signature", range(len(ports)))]
    return found


FLOAT_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}


def bytes_of_weights(path):
    """What all ranks together hold of weights and state in floats, without padding. A rank that
    holds what another one holds counts too."""
    whole = manifest(path)
    axes = {axis["name"]: axis["size"] for axis in whole["mesh"]["axes"]}
    total = 0
    for port in whole["arguments"]:
        if port["dtype"] not in FLOAT_BYTES or port.get("dead"):
            continue
        size = FLOAT_BYTES[port["dtype"]]
        for extent in port["shape"]:
            size *= extent
        layout = port.get("layout", [{}] * len(axes))
        for name, placement in zip([*axes] + [""] * len(layout), layout):
            part = placement.get("axis", name)
            if "shard" not in placement:
                size *= axes[part] if isinstance(part, str) else part[2]
        total += size
    return total


def flops(command):
    """Of a command, at most; 0 of one that has none."""
    if command["command"] != "gemm":
        return command.get("flops", 0)
    k = command["k"]
    result = 2 * command["m"] * command["n"] * (max(k["sizes"]) if isinstance(k, dict) else k)
    for size in command.get("batch", []):
        result *= size
    return result


def write(path, sections):
    table = struct.calcsize(HEADER) + len(sections) * struct.calcsize(ENTRY)
    offset = -(-table // 64) * 64
    entries, body = b"", b""
    for name, data in sections.items():
        entries += struct.pack(ENTRY, name.encode(), offset, len(data),
                               checksum(data))
        padded = data + b"\0" * (-len(data) % 64)
        body += padded
        offset += len(padded)
    head = struct.pack(HEADER, b"TPARTIF\0", 1, len(sections), offset) + entries
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 64) + body)
