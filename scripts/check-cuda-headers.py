#!/usr/bin/env python3
"""Holds what runtime/cuda declares of NVIDIA's libraries against their real headers.

    scripts/check-cuda-headers.py            the driver of CUDA 12 and 13; fetches 6 MB
    scripts/check-cuda-headers.py --all      cuBLASLt, NCCL and cuDNN of both, too, and the
                                             symbols in the libraries; fetches 2.5 GB
    scripts/check-cuda-headers.py --fetch    fetches what the first form needs, no more
    scripts/check-cuda-headers.py --cached   compares what has been fetched

The packages are those of PyPI; they are kept in build/cuda-headers (--build=FOLDER). Every
prototype, value and member that a header of runtime/cuda declares has to be in
test/Runtime/cuda/CudaHeaders.cpp, where the compiler compares it. The last line is
`N comparisons passed, N failed`.
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Of CUDA's major version: the driver's header and what all headers include.
SMALL = {"12": ["nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-crt==13.0.88"],
         "13": ["nvidia-cuda-runtime==13.0.96", "nvidia-cuda-crt==13.0.88"]}
LARGE = {"12": ["nvidia-cublas-cu12==12.9.1.4", "nvidia-nccl-cu12==2.28.9",
                "nvidia-cudnn-cu12==9.19.0.56"],
         "13": ["nvidia-cublas==13.1.0.3", "nvidia-nccl-cu13==2.28.9",
                "nvidia-cudnn-cu13==9.19.0.56"]}
# By library: the file of ours, NVIDIA's header, the table of functions, the library, and
# functions that are no rows of the table.
LIBRARIES = {
    "DRIVER": ("DriverApi.h", "cuda.h", "TP_CUDA_DRIVER_FUNCTIONS", None, []),
    "CUBLASLT": ("CublasLtApi.h", "cublasLt.h", "TP_CUBLASLT_FUNCTIONS", "libcublasLt.so.%s",
                 ["cublasLtGetVersion", "cublasLtGetStatusName"]),
    "NCCL": ("NcclApi.h", "nccl.h", "TP_NCCL_FUNCTIONS", "libnccl.so.2", []),
    "CUDNN": ("CudnnApi.h", "cudnn_graph.h", "TP_CUDNN_FUNCTIONS", "libcudnn.so.9",
              ["cudnnGetVersion", "cudnnGetErrorString", "cudnnGetLastErrorString"]),
}


class Checker:
    def __init__(self, options):
        self.compiler = options.compiler
        self.include = os.path.join(options.source, "runtime", "cuda", "include")
        self.common = os.path.join(options.source, "runtime", "include")
        self.comparison = os.path.join(options.source, "test", "Runtime", "cuda", "CudaHeaders.cpp")
        self.passed = self.failed = 0

    def report(self, what, wrong):
        self.passed += not wrong
        self.failed += bool(wrong)
        print(f"{what}: {'FAILED: ' + wrong if wrong else 'as declared'}", flush=True)

    def header(self, name):
        path = os.path.join(self.include, "tp", "Runtime", "Cuda", name)
        with open(path, encoding="utf-8") as file:
            return re.sub(r"//.*", "", file.read())

    def left_out(self, name):
        """Values and members of a header of ours that nothing compares."""
        with open(self.comparison, encoding="utf-8") as file:
            compared = file.read()
        text = self.header(name)
        missing = [value for value in re.findall(r"inline constexpr \w+ (\w+)\s*=", text)
                   if f"SAME({value})" not in compared and f"ours::{value};" not in compared]
        for struct, body in re.findall(r"\nstruct (\w+) \{(.*?)\n\};", text, re.S):
            for declaration in body.split(";"):
                for part in re.sub(r"=[^,]*", "", declaration).split(","):
                    found = re.search(r"(\w+)\s*(\[\w+\])?\s*$", part)
                    member = found and f"SAME_MEMBER({struct}, {found.group(1)})"
                    if member and member not in compared:
                        missing.append(member)
        return missing

    def functions(self, library):
        """The symbols that a library has to have."""
        name, _, table, _, others = LIBRARIES[library]
        source = (f'#include "tp/Runtime/Cuda/{name}"\n'
                  f"#define ROW(NAME, SYMBOL, PARAMETERS) tp_symbol SYMBOL\n{table}(ROW)\n")
        done = subprocess.run(
            [self.compiler, "-std=c++20", "-E", "-x", "c++", "-I", self.include, "-"],
            input=source, capture_output=True, text=True, check=True)
        return re.findall(r"tp_symbol (\w+)", done.stdout) + others

    def compile(self, library, folders):
        words = [self.compiler, "-std=c++20", "-fsyntax-only", "-I", self.include,
                 "-I", self.common, f"-DTP_HEADERS_{library}"]
        for folder in folders:
            words += ["-isystem", folder]
        done = subprocess.run([*words, self.comparison], capture_output=True, text=True)
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        if done.returncode == 0:
            return None
        return "; ".join(error.split("error: ")[1] for error in errors[:4]) or \
            done.stderr.strip()[-300:]

    def run(self, cuda, folder):
        """Everything that is there of one major version of CUDA."""
        includes, libraries = [], {}
        for path, folders, files in os.walk(folder):
            if os.path.basename(path) == "include":
                includes.append(path)
            for file in files:
                libraries[file] = os.path.join(path, file)
        for library, (_, header, _, soname, _) in LIBRARIES.items():
            if not any(os.path.exists(os.path.join(path, header)) for path in includes):
                continue
            names = self.functions(library)
            self.report(f"{header} of CUDA {cuda}, {len(names)} functions",
                        self.compile(library, includes))
            soname = soname and soname.replace("%s", cuda)
            if soname not in libraries:
                continue
            listing = subprocess.run(
                ["nm", "-D", "--defined-only", libraries[soname]],
                capture_output=True, text=True, check=True).stdout
            has = {line.split()[-1].split("@")[0] for line in listing.splitlines()}
            missing = [name for name in names if name not in has]
            self.report(f"{soname}, {len(names)} symbols",
                        missing and f"it lacks {', '.join(missing)}")


def fetch(folder, packages):
    """Installs what is not there yet, without what it depends on, each in a folder of its
    own: pip replaces what packages have in common."""
    for package in packages:
        place = os.path.join(folder, package)
        if os.path.exists(place):
            continue
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
             "--disable-pip-version-check", "--root-user-action=ignore",
             "--target", place + ".part", package], check=True)
        os.rename(place + ".part", place)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--all", action="store_true")
    how.add_argument("--fetch", action="store_true")
    how.add_argument("--cached", action="store_true")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--compiler", default="clang++-22")
    parser.add_argument("--source", default=ROOT, help="of what is compared")
    options = parser.parse_args()
    checker = Checker(options)
    place = lambda cuda: os.path.join(options.build, "cuda-headers", cuda)
    try:
        for cuda in () if options.cached else SMALL:
            fetch(place(cuda), SMALL[cuda] + (LARGE[cuda] if options.all else []))
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {error}")
    if options.fetch:
        return 0
    for name, _, _, _, _ in LIBRARIES.values():
        missing = checker.left_out(name)
        checker.report(f"{name} is compared",
                       missing and f"CudaHeaders.cpp lacks {', '.join(missing)}")
    for cuda in SMALL:
        if os.path.isdir(place(cuda)):
            checker.run(cuda, place(cuda))
    print(f"{checker.passed} comparisons passed, {checker.failed} failed")
    return 1 if checker.failed else 0


if __name__ == "__main__":
    sys.exit(main())
