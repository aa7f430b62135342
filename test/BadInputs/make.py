"""Files for bad inputs: what `make` sections of the tables may call. Every
function writes into the current folder."""
import copy
import json
import os
import platform
import socket
import stat

# What a manifest with kernels for this machine says of its target.
HERE = {"kind": "cpu", "triple": platform.machine() + "-test", "features": []}
NPY_HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"


def write(path, data):
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def npy(path, header=NPY_HEADER, data=24, version=1, length=None):
    """A .npy file; `data` is bytes, or how many zeros."""
    header = header.encode() if isinstance(header, str) else header
    count = 2 if version == 1 else 4
    length = len(header) if length is None else length
    body = bytes(data) if isinstance(data, int) else data
    write(path, b"\x93NUMPY" + bytes([version, 0]) +
          length.to_bytes(count, "little") + header + body)


def safetensors(path, header, data=0, length=None):
    """A .safetensors file; `header` is a dictionary, text or bytes."""
    if isinstance(header, dict):
        header = json.dumps(header)
    if isinstance(header, str):
        header = header.encode("utf-8", "surrogateescape")
    length = len(header) if length is None else length
    body = bytes(data) if isinstance(data, int) else data
    write(path, length.to_bytes(8, "little") + header + body)


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def port(name, kind, shape, shard=None, dtype="f32", **more):
    """A port of a manifest on one axis, which shards the dimension `shard`."""
    layout = {} if shard is None else {"layout": [{"shard": shard}]}
    return {"name": name, "kind": kind, "shape": shape, "dtype": dtype, **layout, **more}


def manifest():
    """y = sum over 2 ranks of x's columns times w's rows. All that belongs to its
    one entry is at the top level: see document()."""
    buffer = lambda space, offset=0, **more: {"space": space, "offset": offset, **more}
    return {
        "version": 2, "producer": "test", "target": {"kind": "cpu"}, "name": "main",
        "mesh": {"axes": [{"name": "tp", "size": 2}], "device_order": []},
        "arguments": [
            port("x", "user_input", [2, 4], shard=1),
            port("w", "parameter", [4, 3], shard=0, source_keys=["w"])],
        "results": [port("y", "user_output", [2, 3])],
        "groups": [{"id": 0, "axes": ["tp"]}],
        "collectives": [
            {"id": 0, "kind": "all_reduce", "group": 0, "dtype": "f32",
             "reduction": "sum", "order": "rank", "payload_bytes": 24,
             "wire_bytes": 24, "ring_bytes_per_rank": 24, "count": 1,
             "module": "fc", "location": "mm"}],
        "asserts": [], "memory": {"arena_bytes": 64, "scratch_bytes": 0},
        "program": [
            {"command": "gemm", "dtype": "f32", "m": 2, "n": 3, "k": 2,
             "a": {"buffer": buffer("argument", index=0), "ld": 2},
             "b": {"buffer": buffer("argument", index=1), "ld": 3},
             "c": {"buffer": buffer("arena"), "ld": 3}, "location": "mm"},
            {"command": "collective", "id": 0, "input": buffer("arena"),
             "output": buffer("result", index=0), "block": 6}]}


def is_weight(port):
    kind = str(port.get("kind")) if isinstance(port, dict) else ""
    return kind in ("parameter", "buffer", "constant_tensor") or kind.startswith("opt_")


def document(flat):
    """The manifest of one entry that `flat` describes: weights among its arguments
    are shared ones, all others are inputs of the entry."""
    if not isinstance(flat, dict) or "entries" in flat:
        return flat
    whole, entry = dict(flat), {"inputs": []}
    for key in ("name", "results", "collectives", "memory", "program", "end_waits_for",
                "agree_at"):
        if key in whole:
            entry[key] = whole.pop(key)
    ports = whole.get("arguments")
    if isinstance(ports, list):
        weights = [port for port in ports if is_weight(port)]
        entry["inputs"] = [port for port in ports if not is_weight(port)]
        positions = {True: iter(range(len(weights))),
                     False: iter(range(len(weights), len(ports)))}
        entry["signature"] = [next(positions[is_weight(port)]) for port in ports]
        whole["arguments"] = weights
    whole["entries"] = [entry]
    return whole


def checksum(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def container(sections, version=1, count=None, size=None):
    """The bytes of an artifact; a section is (name, bytes) or has its offset,
    size and checksum as further items, None being the right one."""
    count = len(sections) if count is None else count
    start = 24 + 40 * len(sections)
    table, payload = b"", b""
    for name, data, *stated in sections:
        payload += bytes(-(start + len(payload)) % 64)
        right = [start + len(payload), len(data), checksum(data)]
        stated += [None] * (3 - len(stated))
        table += name.encode().ljust(16, b"\0")
        for value, default in zip(stated, right):
            table += (default if value is None else value).to_bytes(8, "little")
        payload += data
    size = start + len(payload) if size is None else size
    return (b"TPARTIF\0" + version.to_bytes(4, "little") + count.to_bytes(4, "little") +
            size.to_bytes(8, "little") + table + payload)


def artifact(path, text=None, code=b"", constants=b""):
    """An artifact with this manifest: text, bytes, or what manifest() gives."""
    text = document(manifest() if text is None else text)
    text = json.dumps(text) if isinstance(text, (dict, list)) else text
    sections = [("manifest", text if isinstance(text, bytes) else text.encode())]
    if code:
        sections.append(("code", code))
    if constants:
        sections.append(("constants", constants))
    write(path, container(sections))


def good_files():
    """An artifact and files that go with it."""
    artifact("ok.tp")
    npy("x.npy", NPY_HEADER.replace("(2, 3)", "(2, 4)"), 32)
    safetensors("w.safetensors", {"w": tensor("F32", [4, 3], 0, 48)}, 48)
