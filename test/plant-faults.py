#!/usr/bin/env python3
"""Plants single faults all over tp and checks that a test catches each.

  plant-faults.py [--work=DIR] [--only=TEXT,...] [--part=compiler|runtime]
                  [--jobs=N]
  plant-faults.py --check    only looks for the texts of all faults

The faults are in test/Faults, each with the test that has to fail. Those of the
compiler are planted at once in a copy of the sources (in DIR, default: a folder
in /tmp), every one as a choice between right and wrong that TP_PLANTED_FAULT
makes when a program runs, so that one build serves them all. Those of the
runtime (runtime_*.py) are patched in one at a time: its files compile in
seconds. Prints a table and `N of N faults caught`; exits non-zero unless all
are. A fault whose text is not there exactly once is an error: bring it up to
date with the code.
"""
import argparse
import ast
import concurrent.futures
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib

from runtime_checker import RuntimeChecker

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LISTS = ("rules", "planner", "heads", "recompute", "partition", "export", "numbers", "cpu",
         "rows", "scatters", "states", "several_entries", "weight_storage", "queues", "cuda", "ops",
         "legalize", "partial_ports", "loops", "rings", "attention_backward")
RUNTIME_LISTS = ("runtime_ranks", "runtime_files", "runtime_devices")
# What a program does that none of the faults is planted in is not its fault.
SWITCH = """\
#include <cstdlib>
namespace {
[[maybe_unused]] const int tpFaultNumber =
    std::getenv("TP_PLANTED_FAULT") ? std::atoi(std::getenv("TP_PLANTED_FAULT"))
                                    : 0;
[[maybe_unused]] bool tpFault(int number) { return tpFaultNumber == number; }
} // namespace
"""
# The tools get the switch, and no fault's test writes where another one does.
LIT_SETTINGS = b"""
fault = os.environ.get("TP_PLANTED_FAULT", "0")
config.environment["TP_PLANTED_FAULT"] = fault
config.test_exec_root = os.path.join(config.test_exec_root, "fault-" + fault)
"""
TARGETS = ("tp-opt", "tp-compile", "tp-run", "tp-sharding-tests", "tp-codegen-tests",
           "tp_fake_cuda", "tp_fake_nccl", "tp_fake_cublaslt", "tp_fake_cudnn")
TIME_LIMIT = 400


class Fault:
    """`what` goes wrong where `text` in `path` becomes `instead`. If a part of
    the text stands between « and » only that is replaced. `test` is a lit test,
    or `sharding:` or `codegen:` and a filter of GoogleTest."""

    def __init__(self, number, path, what, text, instead, test):
        self.number, self.path, self.what = number, path, what
        self.instead, self.test = instead, test
        self.before, self.right, self.after = "", text, ""
        if "«" in text:
            self.before, rest = text.split("«")
            self.right, self.after = rest.split("»")

    def place(self, source):
        """Where the right text begins and ends in `source`."""
        text = self.before + self.right + self.after
        if source.count(text) != 1:
            sys.exit(f"{self.path}: error: expected the text of fault "
                     f"'{self.what}' once, got it {source.count(text)} times")
        begin = source.index(text) + len(self.before)
        return begin, begin + len(self.right)

    def choice(self, otherwise):
        """The text that chooses; a statement or an expression, both of type
        Value where the wrong one says so."""
        if self.right.rstrip().endswith((";", "}")):
            return f"if (tpFault({self.number})) {{ {self.instead} }} else " \
                   f"{{ {otherwise} }}"
        if self.instead.startswith("Value("):
            otherwise = f"Value({otherwise})"
        return f"(tpFault({self.number}) ? ({self.instead}) : ({otherwise}))"


def refuse_hidden(path):
    """Ends where a list names a file twice: the second time would hide the faults of the first."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    tables = [node.value for node in tree.body if isinstance(node, ast.Assign)
              and isinstance(node.value, ast.Dict)]
    for table in tables:
        names = [key.value for key in table.keys if isinstance(key, ast.Constant)]
        for name in sorted({name for name in names if names.count(name) > 1}):
            sys.exit(f"{path}: error: {name} is listed twice; join its faults")


def compiler_faults():
    faults = []
    for name in LISTS:
        refuse_hidden(os.path.join(ROOT, "test", "Faults", name + ".py"))
        for path, rows in importlib.import_module(name).FAULTS.items():
            for row in rows:
                # A new fault changes no other one's number, so that their files
                # need not be built again.
                number = zlib.crc32(f"{path} {row[0]}".encode()) >> 1
                faults.append(Fault(number, path, *row))
    if len({fault.number for fault in faults}) != len(faults):
        sys.exit("error: two faults of one file have one name")
    return faults


def runtime_faults():
    return [fault for name in RUNTIME_LISTS
            for fault in importlib.import_module(name).FAULTS]


def patched(source, fault):
    """The source of a file of the runtime with the fault in it."""
    what, path, text, instead, _ = fault
    if source.count(text) != 1:
        sys.exit(f"{path}: error: expected the text of fault '{what}' once,"
                 f" got it {source.count(text)} times")
    return source.replace(text, instead)


def plant(path, faults):
    """The text of the file with all `faults` in it."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        source = file.read()
    places = {}
    for fault in faults:
        places.setdefault(fault.place(source), []).append(fault)
    # From the end, so that places stay where they are.
    last = len(source)
    for (begin, end), here in sorted(places.items(), reverse=True):
        if end > last:
            sys.exit(f"{path}: error: fault '{here[0].what}' overlaps another")
        last = begin
        text = source[begin:end]
        for fault in here:
            text = fault.choice(text)
        source = source[:begin] + text + source[end:]
    return SWITCH + f'#line 1 "{path}"\n' + source


def cached(build, name):
    """What a build was configured with, or None."""
    try:
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
            rows = (line.rstrip("\n").partition("=") for line in file)
            return next((value for key, _, value in rows if key.partition(":")[0] == name), None)
    except FileNotFoundError:
        return None


def package_python():
    """The Python that the working tree's build has the package for, or None."""
    build = os.path.join(ROOT, "build")
    return cached(build, "Python_EXECUTABLE") if cached(build, "TP_PYTHON") == "ON" else None


class Copy:
    """The sources with all faults, and what is built of them."""

    def __init__(self, work, faults, jobs):
        # The build stands in the sources, as it does where people work, so that
        # a compiler cache finds what they have built.
        self.source, self.build = work, os.path.join(work, "build")
        self.jobs = jobs
        self.environment = dict(os.environ, CCACHE_BASEDIR=work,
                                CCACHE_NOHASHDIR="1")
        planted = {}
        for fault in faults:
            planted.setdefault(fault.path, []).append(fault)
        files = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"],
            capture_output=True, text=True, check=True).stdout.split("\n")
        for name in filter(None, files):
            if name in planted:
                self.write(name, plant(name, planted[name]).encode())
            elif os.path.isfile(os.path.join(ROOT, name)):
                with open(os.path.join(ROOT, name), "rb") as file:
                    data = file.read()
                if name == "test/lit.cfg.py":
                    data += LIT_SETTINGS
                self.write(name, data)

    def write(self, name, data):
        """Unchanged files keep their time: a second run builds little."""
        target = os.path.join(self.source, name)
        if os.path.isfile(target):
            with open(target, "rb") as file:
                if file.read() == data:
                    return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)

    def make(self):
        targets, python = list(TARGETS), package_python()
        if python is not None:
            targets.append("tp_python")
        if not os.path.isfile(os.path.join(self.build, "build.ninja")) or (
                python is not None and cached(self.build, "TP_PYTHON") != "ON"):
            launcher = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache"
                        for language in ("C", "CXX")]
            self.call(["cmake", "-G", "Ninja", "-S", self.source, "-B",
                       self.build, "-DCMAKE_C_COMPILER=clang-22",
                       "-DCMAKE_CXX_COMPILER=clang++-22",
                       "-DCMAKE_BUILD_TYPE=Release",
                       "-DLLVM_USE_LINKER=lld"] +
                      (["-DTP_PYTHON=ON", f"-DPython_EXECUTABLE={python}"] if python else []) +
                      (launcher if shutil.which("ccache") else []))
        self.call(["ninja", "-C", self.build, f"-j{self.jobs}", *targets])

    def call(self, command):
        done = subprocess.run(command, capture_output=True, text=True,
                              env=self.environment)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")

    def fails(self, test, fault):
        """Why `test` fails with `fault` (0: none), or None if it passes."""
        kind, _, name = test.partition(":")
        if name:
            command = [os.path.join(self.build, "bin", f"tp-{kind}-tests"),
                       f"--gtest_filter={name}"]
        else:
            command = [os.path.join(self.build, "bin", "lit"), "-q", "-j1",
                       "--show-unsupported", os.path.join(self.build, "test", test)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True,
            env=dict(os.environ, TP_PLANTED_FAULT=str(fault)))
        try:
            output = process.communicate(timeout=TIME_LIMIT)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "does not end"
        if process.returncode == 0:
            # A filter that matches nothing would catch nothing either, nor would a test that
            # lacks what it requires.
            return ("no such test" if "Running 0 tests" in output else
                    "it is left out here: scripts/setup.sh --frontends sets up what it requires"
                    if "Unsupported Tests" in output else None)
        return output.strip() or f"exit status {process.returncode}"


def plant_in_compiler(copy, faults):
    """The number of faults that are caught."""
    copy.make()
    caught = 0
    with concurrent.futures.ThreadPoolExecutor(copy.jobs) as pool:
        tests = sorted({fault.test for fault in faults})
        for test, why in zip(tests, pool.map(lambda t: copy.fails(t, 0), tests)):
            if why:
                sys.exit(f"error: without a fault {test} fails: {why}")
        found = pool.map(lambda f: copy.fails(f.test, f.number), faults)
        for number, (fault, why) in enumerate(zip(faults, found), 1):
            caught += why is not None
            print(f"{number:3} | {os.path.basename(fault.path):24} | "
                  f"{fault.what:56} | {fault.test if why else 'nothing'}",
                  flush=True)
    return caught


def plant_in_runtime(copy, faults):
    """The number of faults that are caught."""
    checker = RuntimeChecker(copy)
    failure = checker.first_failure(":".join(sorted({f[4] for f in faults})))
    if failure:
        sys.exit(f"error: without a fault {failure} fails")
    caught = 0
    for number, fault in enumerate(faults, 1):
        what, path, _, _, tests = fault
        target = os.path.join(copy.source, path)
        with open(target, encoding="utf-8") as file:
            right = file.read()
        copy.write(path, patched(right, fault).encode())
        try:
            failure = checker.first_failure(tests)
        finally:
            copy.write(path, right.encode())
        caught += failure is not None
        print(f"{number:3} | {os.path.basename(path):24} | {what:56} | "
              f"{failure or 'nothing'}", flush=True)
    return caught


def command_line():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", metavar="DIR", default=os.path.join(
        tempfile.gettempdir(), "tp-plant-faults"))
    parser.add_argument("--only", metavar="TEXT,...", default="")
    parser.add_argument("--part", choices=("compiler", "runtime"),
                        default="compiler,runtime")
    parser.add_argument("--jobs", metavar="N", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    return parser


def main():
    options = command_line().parse_args()
    only, part = options.only.split(","), options.part
    sys.path.insert(0, os.path.join(ROOT, "test", "Faults"))
    planted, patches = compiler_faults(), runtime_faults()
    if options.check:
        for path in {fault.path for fault in planted}:
            plant(path, [fault for fault in planted if fault.path == path])
        for fault in patches:
            with open(os.path.join(ROOT, fault[1]), encoding="utf-8") as file:
                patched(file.read(), fault)
        print(f"{len(planted)} faults of the compiler and {len(patches)} of the "
              "runtime have their texts")
        return
    compiler = [fault for fault in planted if "compiler" in part and
                any(text in f"{fault.path} {fault.what}" for text in only)]
    runtime = [fault for fault in patches if "runtime" in part and
               any(text in f"{fault[1]} {fault[0]}" for text in only)]
    copy = Copy(options.work, planted, options.jobs)
    caught = plant_in_compiler(copy, compiler) if compiler else 0
    caught += plant_in_runtime(copy, runtime) if runtime else 0
    total = len(compiler) + len(runtime)
    print(f"{caught} of {total} faults caught")
    sys.exit(caught != total)


if __name__ == "__main__":
    main()
