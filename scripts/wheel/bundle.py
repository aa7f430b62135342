#!/usr/bin/env python3
"""Puts the libraries that a wheel's programs need into the wheel, and the linker.

    bundle.py BARE.whl FOLDER

Writes FOLDER/NAME-manylinux_X_Y_x86_64.whl for glibc X.Y of this machine, and prints its size.
Every library but glibc's goes into tp/prefix/lib, with run paths relative to each file. BLAS gets a
name of its own, so that a process that has another one has both. Needs patchelf.
"""
from __future__ import annotations

import argparse
import base64
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile

# Of glibc: every machine has its own. The loader's name is that of its file.
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1",
         "libresolv.so.2", "libmvec.so.1", "linux-vdso.so.1"}
RENAMED = ("libopenblas", "libdnnl")


def needed(path: str) -> dict[str, str]:
    """Names and paths of the libraries that a file needs, those of libraries included."""
    text = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if not arrow or name in GLIBC:
            continue
        if rest.startswith("not found"):
            raise SystemExit(f"bundle.py: error: {path} needs {name}, which is not found")
        found[name] = rest.split(" (")[0]
    return found


def patchelf(*arguments: str) -> None:
    subprocess.run(["patchelf", *arguments], check=True)


def own_name(name: str) -> str:
    """`libopenblas-tp.so.0`."""
    stem, dot, rest = name.partition(".")
    return f"{stem}-tp{dot}{rest}" if stem in RENAMED else name


def is_elf(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def bundle(root: str) -> None:
    """Brings everything that the files under `root` need to tp/prefix/lib."""
    prefix = os.path.join(root, "tp", "prefix")
    tools = subprocess.run(["llvm-config-22", "--bindir"], check=True, capture_output=True,
                           text=True).stdout.strip()
    shutil.copy(os.path.join(tools, "ld.lld"), os.path.join(prefix, "bin", "ld.lld"))
    files = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]
    programs = [path for path in files if is_elf(path)]
    libraries: dict[str, str] = {}
    for path in programs:
        libraries.update(needed(path))
    place = os.path.join(prefix, "lib")
    os.makedirs(place)
    for name, path in libraries.items():
        target = os.path.join(place, own_name(name))
        shutil.copy(os.path.realpath(path), target)
        os.chmod(target, 0o755)
        if own_name(name) != name:
            patchelf("--set-soname", own_name(name), target)
    renames = [(name, own_name(name)) for name in libraries if own_name(name) != name]
    for path in [*programs, *(os.path.join(place, own_name(name)) for name in libraries)]:
        where = os.path.relpath(place, os.path.dirname(path))
        arguments = ["--set-rpath", "$ORIGIN" if where == "." else f"$ORIGIN/{where}"]
        for old, new in renames:
            arguments += ["--replace-needed", old, new]
        patchelf(*arguments, path)


def record(root: str, info: str) -> None:
    """Writes the list of files and their hashes, which pip checks."""
    rows = []
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            if relative == f"{info}/RECORD":
                continue
            with open(path, "rb") as file:
                data = file.read()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{relative},sha256={digest},{len(data)}")
    rows.append(f"{info}/RECORD,,")
    with open(os.path.join(root, info, "RECORD"), "w", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")


def retag(root: str, info: str, tag: str) -> None:
    """Names the platform in the wheel's own description."""
    path = os.path.join(root, info, "WHEEL")
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            if line.startswith("Tag: "):
                line = line.rpartition("-")[0] + "-" + tag
            file.write(line + "\n")


def pack(root: str, path: str) -> None:
    """Zips a folder; programs stay executable."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as wheel:
        for folder, _, names in sorted(os.walk(root)):
            for name in sorted(names):
                file = os.path.join(folder, name)
                wheel.write(file, os.path.relpath(file, root))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("folder")
    options = parser.parse_args()
    tag = f"manylinux_{platform.libc_ver()[1].replace('.', '_')}_{platform.machine()}"
    name, version, python, abi, _ = os.path.basename(options.wheel)[:-len(".whl")].split("-")
    os.makedirs(options.folder, exist_ok=True)
    path = os.path.join(options.folder, f"{name}-{version}-{python}-{abi}-{tag}.whl")
    with tempfile.TemporaryDirectory() as root:
        with zipfile.ZipFile(options.wheel) as wheel:
            for item in wheel.infolist():
                mode = item.external_attr >> 16
                extracted = wheel.extract(item, root)
                if mode & 0o111:
                    os.chmod(extracted, 0o755)
        info = f"{name}-{version}.dist-info"
        bundle(root)
        retag(root, info, tag)
        record(root, info)
        pack(root, path)
        held = sum(os.path.getsize(os.path.join(folder, file))
                   for folder, _, files in os.walk(root) for file in files)
    print(f"{path}: {os.path.getsize(path) / 2**20:.0f} MiB, {held / 2**20:.0f} MiB installed")


if __name__ == "__main__":
    sys.exit(main())
