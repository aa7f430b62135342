#!/usr/bin/env python3
"""Checks an installed tp: every header of the compiler is there, all headers
together compile in a project of their own, the library has the version of its header,
and what is not installed is refused by name.

  check-installed.py PREFIX --build=DIR --folder=DIR
"""
import ctypes
import os
import re
import subprocess
import sys

from build_cache import arguments, environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(uses_tp LANGUAGES C CXX)
find_package(tp {request})
"""
# Every library, so that the file sees what any of them brings along.
ALL_HEADERS = """add_library(all_headers OBJECT all-headers.cpp)
target_link_libraries(all_headers PRIVATE tp::runtime tp::Pipelines)
"""


def headers(folder: str) -> set[str]:
    """Paths relative to the folder."""
    return {os.path.relpath(os.path.join(inner, name), folder)
            for inner, _, names in os.walk(folder)
            for name in names if name.endswith(".h")}


class Project:
    """A project that uses the tp of a prefix."""

    def __init__(self, folder: str, name: str, prefix: str, build: str):
        self.folder = os.path.join(folder, name)
        self.prefix = os.path.abspath(prefix)
        self.variables = environment(build)
        os.makedirs(self.folder)

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=self.folder, env=self.variables, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def configure(self, text: str, *options: str) -> subprocess.CompletedProcess[str]:
        self.write("CMakeLists.txt", text)
        return self.call("cmake", "-S", ".", "-B", "build", *options,
                         f"-DCMAKE_PREFIX_PATH={self.prefix}")


def check_headers(prefix: str, build: str, folder: str) -> None:
    installed = headers(os.path.join(prefix, "include"))
    missing = headers(os.path.join(ROOT, "include")) - installed
    if missing:
        sys.exit(f"not installed: {' '.join(sorted(missing))}")
    project = Project(folder, "headers", prefix, build)
    project.write("all-headers.cpp",
                  "".join(f'#include "{name}"\n' for name in sorted(installed)))
    for done in (project.configure(PROJECT.format(request="REQUIRED") + ALL_HEADERS),
                 project.call("cmake", "--build", "build")):
        if done.returncode:
            sys.exit(f"a project that includes all headers:\n{done.stdout}")
    print(f"{len(installed)} headers compile")


def check_refused(prefix: str, build: str, folder: str, request: str, expected: str,
                  *options: str) -> None:
    """find_package(tp REQUEST REQUIRED) fails, and says this."""
    project = Project(folder, f"refused-{len(os.listdir(folder))}", prefix, build)
    done = project.configure(PROJECT.format(request=f"{request} REQUIRED"), *options)
    words = " ".join(done.stdout.split())
    if done.returncode == 0 or expected not in words:
        sys.exit(f"find_package(tp {request}): expected '{expected}', got\n{done.stdout}")
    print(f"find_package(tp {request}) is refused: {expected}")


def check_runtime_alone(build: str, folder: str) -> str:
    """Installs the runtime alone and builds the example's host on it."""
    project = Project(folder, "host", os.path.join(folder, "runtime"), build)
    for words in (["cmake", "--install", os.path.abspath(build), "--component", "runtime",
                   "--prefix", project.prefix],
                  ["cmake", "-S", os.path.join(ROOT, "examples", "out-of-tree"), "-B", ".",
                   f"-DCMAKE_PREFIX_PATH={project.prefix}"],
                  ["cmake", "--build", "."]):
        done = project.call(*words)
        if done.returncode:
            sys.exit(f"{' '.join(words)}\n{done.stdout}")
    programs = sorted({"run-rank", "run-ranks", "list-collectives", "own-pass", "own-opt"}
                      & set(os.listdir(project.folder)))
    if programs != ["run-rank", "run-ranks"]:
        sys.exit(f"with the runtime alone: expected run-rank and run-ranks, got {programs}")
    if len(headers(os.path.join(project.prefix, "include"))) != 3:
        sys.exit("the runtime alone: expected the headers of the C ABI, got others")
    print("the runtime alone is enough for a host")
    return project.prefix


def check_abi_version(prefix: str) -> None:
    """The library's file, what it answers, and docs/install.md have the version of the
    header."""
    with open(os.path.join(prefix, "include", "tp", "Runtime", "Runtime.h"),
              encoding="utf-8") as file:
        version = re.search(r"^#define TP_ABI_VERSION (\d+)$", file.read(), flags=re.M)[1]
    library = os.path.join(prefix, "lib", "libtp_runtime.so")
    name = os.path.basename(os.path.realpath(library))
    loaded = ctypes.CDLL(library).tp_abi_version()
    if name != f"libtp_runtime.so.1.{version}" or loaded != int(version):
        sys.exit(f"TP_ABI_VERSION is {version}, and {name} answers {loaded}")
    with open(os.path.join(ROOT, "docs", "install.md"), encoding="utf-8") as file:
        if f"`{name}`" not in file.read():
            sys.exit(f"docs/install.md does not name {name}")
    print(f"{name} has version {version} of the C ABI")


def main() -> int:
    options = arguments(__doc__, "prefix")
    where = (options.build, os.path.abspath(options.folder))
    check_headers(options.prefix, *where)
    alone = check_runtime_alone(*where)
    check_abi_version(alone)
    check_refused(alone, *where, "COMPONENTS compiler",
                  f"component compiler: it is not installed in {alone}")
    check_refused(options.prefix, *where, "COMPONENTS kernels",
                  "component kernels: expected runtime or compiler")
    check_refused(options.prefix, *where, "99.0", 'requested version "99.0"')
    # CMake then finds no MLIR, wherever it is.
    check_refused(options.prefix, *where, "COMPONENTS compiler",
                  "component compiler: it needs MLIR",
                  "-DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON")
    return 0


if __name__ == "__main__":
    sys.exit(main())
