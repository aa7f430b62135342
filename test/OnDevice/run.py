#!/usr/bin/env python3
"""The tests on an NVIDIA device. scripts/test.py --gpu runs this; the last line is
`N passed, N failed`, exit status 0 only if nothing failed and something ran.

    scripts/test.py --gpu [--models=FOLDER]... [--only=REGEX] [--build=build]
    scripts/test.py --gpu --pack=FILE.tar[.gz|.xz] [--models=FOLDER]...
    scripts/test.py --gpu --packed=FILE.tar[.gz|.xz]

What says most about whether anything runs at all comes first, each with a time limit of
its own; all of it ends after --minutes, and what was not reached is listed as left out:

- an example as it runs by default, on one rank; on two, which share the device if there is
  one; and once more on two, of which one is killed between steps: the other has to end;
- tests of the runtime that make nothing fail, with kernels written by hand: graphs that
  capture collectives, products and marks;
- the times of an example's commands, and of products of both forms;
- compute-sanitizer's four tools over an example, where it is installed;
- the other examples and the models of test/EndToEnd against PyTorch's results, on 1 rank,
  and on 2 and 4 as processes;
- every exported model in the FOLDERs, laid out as tp chooses, likewise; one that lacks
  weights, on random ones, against the CPU target and against itself on one rank;
- the programs of test/Codegen/CUDA against what the CPU target computes;
- compute-sanitizer over programs of f32 and bf16;
- bench/gpu on the models that it knows.

--pack compiles all of it on a machine without a device, for a bare one that has Python
alone: a copy of the repository and the file are all that --packed needs there.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(ROOT, "bench"))
import artifact
import launch
import prepare
import random_data
from device import Device, Missing
from prepare import kernel_cases

CHIPS = "sm_80,sm_90,sm_100"
# Tests of the runtime without faults, whose kernels are also in CudaKernels.ptx.
RUNTIME = ["CudaRunTest." + name for name in (
    "EqualsTheHost", "GroupsOfSomeRanks", "KernelsKnowWhereTheyRun",
    "AFailedCheckIsTheStatusOfAllRanks", "OneRankAlone", "ProductsOfAllTypesAndForms")] + [
    "CudaRankTest." + name for name in (
        "TheNextStepStartsWithoutTheLastOnesStatus", "ArgumentsChangeBetweenSteps",
        "PoisonReachesPaddingAndTheArena", "SkippedCollectivesLeaveNumbers")]
SANITIZERS = ("memcheck", "racecheck", "synccheck", "initcheck")
# What a machine takes in one piece, the repository and the pack.
UPLOAD_BYTES = 64 << 20
PACK_BYTES = 60_000_000
# Of one of the tests that come first, on a device that is one: a fake one is as slow as
# its host.
FIRST_SECONDS = 60
# Programs of which the times are printed: SwiGLU, rope, norms and attention; products.
TIMED = ("llama megatron tp=1", "products as stored and transposed")


class LeftOut(Exception):
    """A test that cannot be run here, and why."""


class Tests:
    def __init__(self, device, folder, tool, seconds, minutes):
        self.device, self.folder, self.tool = device, folder, tool
        self.most, self.seconds = seconds, seconds
        self.first = seconds if device.isFake else FIRST_SECONDS
        self.end = time.monotonic() + 60 * minutes if minutes else None
        self.passed = self.failed = 0
        self.left_out = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, name, test, seconds=None):
        """`test` gives None, or what is wrong."""
        start = time.monotonic()
        self.seconds = min(self.most, seconds or self.most,
                           self.end - start if self.end else self.most)
        try:
            if self.seconds < 1:
                raise LeftOut("no time is left")
            wrong = test()
        except LeftOut as reason:
            self.left_out.append(name)
            print(f"{name}: left out: {reason}", flush=True)
            return
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            wrong = f"{type(error).__name__}: {error}"
        self.passed += wrong is None
        self.failed += wrong is not None
        print(f"{name}: {'passed' if wrong is None else 'FAILED: ' + wrong} "
              f"({time.monotonic() - start:.1f} s)", flush=True)

    def tp_run(self, case, words, ranks=None, prefix=(), repeat=3, more=None):
        """Three steps: the first one queues commands, later ones are a graph."""
        return launch.run(self.device, ranks or case["ranks"],
                          [self.tool, case["artifact"], f"--repeat={repeat}", *words],
                          self.folder, self.seconds, prefix, more)

    def killed(self, case):
        """The ranks' collectives are in a graph when one dies: the others end by
        themselves, and say of whom."""
        wait = 60 if self.device.isFake else 20
        done = self.tp_run(case, [*case["words"], f"--timeout={wait}",
                                  "--inject-fault=die@1:end3"], repeat=5)
        if done.status in (0, 124):
            return done.wrong() or "the run went on without its rank"
        # A parent sees it die, or the others see it; at the latest by the time-out.
        named = re.search("waited|was lost|was killed|ended in", done.err) and "rank 1" in done.err
        return None if named else done.wrong()

    def times(self, case):
        """What each command takes, and the step as a graph, as tp-run prints it."""
        done = self.tp_run(case, ["--only-rank=0", "--skip-collectives", "--random-data=1",
                                  "--stats", f"--time-commands={case['artifact']}.json"],
                           ranks=1)
        print(done.out, end="", flush=True)
        return done.wrong()

    def of(self, case):
        if "wrong" in case:
            return lambda: case["wrong"]
        return lambda: getattr(self, case["kind"])(case)

    def compared(self, case):
        done = self.tp_run(case, ["--poison", *case["words"]])
        return done.wrong() or (None if ": equal," in done.out else
                                f"nothing was compared: {done.out[-200:]}")

    def kernels(self, case):
        outputs = [f"--output=result{i}=@{case['artifact']}.g{i}.npy"
                   for i in range(len(case["results"]))]
        done = self.tp_run(case, [*case["words"], *outputs])
        if done.wrong():
            return done.wrong()
        bad = []
        for i, result in enumerate(case["results"]):
            got, expected = (self.elements(name, result["element"]) for name in (
                f"{case['artifact']}.g{i}.npy", result["file"]))
            wrong = [k for k, (a, b) in enumerate(zip(got, expected))
                     if not kernel_cases.same(a, b, result["exact"], result["element"])]
            if wrong or len(got) != len(expected):
                at = wrong[0] if wrong else 0
                bad.append(f"{result['name']}: element {at} is {got[at]}, expected "
                           f"{expected[at]}; {len(wrong)} differ")
        return "; ".join(bad[:3]) + (f"; {len(bad)} results" if bad else "") or None

    def elements(self, name, element):
        with open(self.path(name), "rb") as file:
            data = file.read()
        size = int.from_bytes(data[8:10], "little")
        return kernel_cases.decode(data[10 + size:], element)

    def random(self, case):
        """A model on random weights; on one rank against the CPU target, which has
        limited time for it, and on more against one rank."""
        try:
            words = random_data.write(self.folder, case["model"], case["arguments"])
        except ImportError:
            raise LeftOut("numpy is needed for random weights")
        count = len(artifact.entry(self.path(case["artifact"]))["results"])
        names = lambda what: [f"{case['model']}.{what}{i}.npy" for i in range(count)]
        expected = [f"--expected-output=@{n}" for n in names("one")] + case["tolerance"]
        kept = [f"--output=@{n}" for n in names("one")]
        dtype = [] if "--dtype=bf16" in words else ["--dtype=bf16"]
        if case["ranks"] > 1:
            if not os.path.exists(self.path(names("one")[0])):
                return "one rank gave nothing to compare with"
            return self.tp_run(case, words + dtype + expected).wrong()
        done = self.tp_run(case, words + dtype + kept)
        if done.wrong():
            return done.wrong()
        try:
            on_cpu = subprocess.run(
                [self.tool, case["cpu"], *words, *dtype, *expected], cwd=self.folder,
                capture_output=True, text=True, timeout=self.seconds)
        except subprocess.TimeoutExpired:
            raise LeftOut(f"it runs, and the CPU target takes longer than "
                          f"{self.seconds} s to compare with")
        return on_cpu.stderr.strip()[-300:] if on_cpu.returncode else None

    def sanitized(self, case, sanitizer, tool):
        prefix = [sanitizer, f"--tool={tool}", "--error-exitcode=97",
                  "--target-processes=all"]
        # It runs one launch at a time: nothing is there to be timed.
        done = self.tp_run(case, [*case["words"], "--timeout=300"], prefix=prefix,
                           more={"TP_CUDA_TUNE": "0"})
        if "not supported" in done.out + done.err:
            raise LeftOut("compute-sanitizer does not support this device")
        if done.status == 97:
            return "; ".join(line for line in (done.out + done.err).splitlines()
                             if line.startswith("====="))[:600]
        # A tool that did not look prints no summary.
        return done.wrong() or (None if re.search(
            r"ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards",
            done.out + done.err) else "it printed no summary")

    def runtime(self, name, program, environment):
        """A test of GoogleTest's."""
        done = subprocess.run([program, f"--gtest_filter={name}"], env=environment,
                              capture_output=True, text=True, timeout=self.seconds)
        ran = "[  PASSED  ] 1 test" in done.stdout
        return None if done.returncode == 0 and ran else "; ".join(
            line for line in (done.stdout + done.stderr).splitlines() if line.strip()
            and not line.startswith(("[", "Note", "Running")))[-600:] or "it did not run"

    def bench(self, words):
        done = subprocess.run(words, cwd=ROOT, env=self.device.environment(),
                              timeout=self.seconds)
        return f"ends with {done.returncode}" if done.returncode else None


def sanitizer_path(options):
    if options.sanitizer:
        return options.sanitizer
    return shutil.which("compute-sanitizer") or next(
        (p for p in ("/usr/local/cuda/bin/compute-sanitizer",) if os.path.exists(p)), None)


def run_sanitizers(tests, sanitizer, cases, overKernels):
    """All tools over an example; over kernels those that see tails and barriers."""
    for case in cases:
        isExample = case["name"] == "llama megatron tp=1"
        isKernel = re.match("kernels (f32|bf16) ", case["name"])
        if "wrong" in case or not (isKernel if overKernels else isExample):
            continue
        for name in SANITIZERS if isExample else SANITIZERS[:2]:
            def sanitized():
                if not sanitizer:
                    raise LeftOut("compute-sanitizer is not installed")
                return tests.sanitized(case, sanitizer, name)
            tests.run(f"compute-sanitizer {name}, {case['name']}", sanitized)


def run_first(tests, cases):
    """Whether anything runs by default, and ends when a rank dies."""
    found = {case["name"]: case for case in cases if "wrong" not in case}
    alone, two = (found.get(f"llama megatron tp={ranks}") for ranks in (1, 2))
    for case in (alone, two):
        if case:
            tests.run(case["name"], tests.of(case), tests.first)
    if two:
        tests.run("llama megatron tp=2, a rank killed after step 3",
                  lambda: tests.killed(two), tests.first)
    return [case for case in cases if case is not alone and case is not two]


def run_runtime(tests, options, folder, packed):
    isPacked = os.path.exists(packed)
    program = os.path.join(folder if isPacked else options.build, "bin",
                           "tp-runtime-cuda-tests")
    environment = tests.device.environment() | {
        "TP_TEST_PTX": os.path.join(ROOT, "test", "Runtime", "cuda", "CudaKernels.ptx"),
        "TP_TEST_RUN": f"{sys.executable} {HERE}/tp_run.py", "TP_RUN_TOOL": tests.tool}
    if isPacked:
        environment["TP_TEST_FILES"] = os.path.join(folder, "lib")
    for name in RUNTIME:
        if re.search(options.only, f"runtime {name}"):
            tests.run(f"runtime {name}", lambda: tests.runtime(
                name, os.path.abspath(program), environment))


def run_all(options, device, folder, cases):
    packed = os.path.join(folder, "bin", "tp-run")
    tool = packed if os.path.exists(packed) else os.path.abspath(
        os.path.join(options.build, "bin", "tp-run"))
    if os.path.exists(packed):
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(
            [os.path.join(folder, "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
    os.environ["TP_CUDA_CACHE"] = folder
    tests = Tests(device, folder, tool, options.seconds, options.minutes)
    rest = run_first(tests, cases)
    run_runtime(tests, options, folder, packed)
    for case in cases:
        if "wrong" not in case and case["name"] in TIMED:
            tests.run(f"times of {case['name']}", lambda: tests.times(case), tests.first)
    sanitizer = sanitizer_path(options)
    run_sanitizers(tests, sanitizer, cases, overKernels=False)
    for case in rest:
        if case["kind"] != "times" or "wrong" in case:
            tests.run(case["name"], tests.of(case))
    run_sanitizers(tests, sanitizer, cases, overKernels=True)
    if not options.no_bench:
        words = [sys.executable, os.path.join(ROOT, "bench", "gpu"), f"--tp-run={tool}",
                 *(f"--models={path}" for path in options.models)]
        words.append(f"--artifacts={folder}/bench" if os.path.exists(packed)
                     else f"--build={os.path.abspath(options.build)}")
        tests.run("bench/gpu", lambda: tests.bench(words))
    print()
    if tests.left_out:
        print(f"{len(tests.left_out)} left out: {', '.join(tests.left_out)}")
    print(device.describe())
    print(f"{tests.passed} passed, {tests.failed} failed", flush=True)
    return 0 if tests.failed == 0 and tests.passed > 0 else 1


def chips_of(options, device):
    if options.chip or not device:
        return options.chip or CHIPS
    if device.isFake:
        return "host"
    # Code of an earlier chip of the major version runs, else PTX is assembled.
    return device.chip() if device.chip() in CHIPS.split(",") else CHIPS


def pack(options, folder, only):
    target = prepare.Folder(folder, options.build, chips_of(options, None), keep=True,
                            only=only)
    cases = prepare.prepare(target, options.models, options.dtype)
    prepare.copy_runtime(target)
    if not options.no_bench:
        subprocess.run([sys.executable, os.path.join(ROOT, "bench", "gpu"),
                        f"--build={options.build}", f"--compile-only={folder}/bench",
                        f"--chip={target.chips}",
                        *(f"--models={path}" for path in options.models)], check=True)
    suffix = os.path.splitext(options.pack)[1][1:]
    with tarfile.open(options.pack, f"w:{suffix if suffix in ('gz', 'xz') else ''}") as file:
        file.add(folder, "tp-on-device")
    wrong = [case for case in cases if "wrong" in case]
    for case in wrong:
        print(f"{case['name']}: {case['wrong']}")
    size, tree = os.path.getsize(options.pack), tree_bytes()
    print(f"{options.pack}: {size:,} bytes, "
          f"{len(cases) - len(wrong)} of {len(cases)} programs compiled")
    if size > PACK_BYTES or size + tree > UPLOAD_BYTES:
        print(f"error: expected at most {PACK_BYTES:,} bytes, and with the repository's "
              f"{tree:,} at most {UPLOAD_BYTES:,}: name a FILE.tar.xz, one --chip, or less "
              "by --only and --dtype")
        return 1
    return 1 if wrong else 0


def tree_bytes():
    """Of the files that go with a pack; 0 where git does not say."""
    try:
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True,
                               text=True, check=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        return 0
    return sum(os.lstat(os.path.join(ROOT, name)).st_size for name in names
               if name and os.path.lexists(os.path.join(ROOT, name)))


def main(words=None):
    parser = argparse.ArgumentParser(
        prog="test.py --gpu", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--models", action="append", default=[], metavar="FOLDER",
                        type=os.path.abspath)
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="of the names of models and kernels")
    parser.add_argument("--dtype", action="append",
                        help="of the kernels; all of them")
    parser.add_argument("--chip", help=f"to compile for; the device's, or {CHIPS}")
    parser.add_argument("--seconds", type=float, default=600, help="that one run may take")
    parser.add_argument("--minutes", type=float, help="that all of it may take; 0: "
                        "any; of what is packed, on a device that is one, 8.5")
    parser.add_argument("--no-bench", action="store_true")
    parser.add_argument("--sanitizer", help="the path of compute-sanitizer")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--pack", metavar="FILE", type=os.path.abspath)
    group.add_argument("--packed", metavar="FILE", type=os.path.abspath)
    options = parser.parse_args(words)
    options.dtype = options.dtype or list(kernel_cases.BYTES)
    only = re.compile(options.only)
    with tempfile.TemporaryDirectory() as folder:
        if options.pack:
            return pack(options, folder, only)
        try:
            device = Device()
        except Missing as reason:
            print(f"no device to test on: {reason}")
            print("0 passed, 1 failed")
            return 1
        print(device.describe(), flush=True)
        if options.minutes is None:
            options.minutes = 8.5 if options.packed and not device.isFake else 0
        if options.packed:
            with tarfile.open(options.packed) as file:
                file.extractall(folder, filter="data")
            folder = os.path.join(folder, "tp-on-device")
            with open(os.path.join(folder, "cases.json")) as file:
                cases = [c for c in json.load(file)["cases"] if only.search(c["name"])]
        else:
            target = prepare.Folder(folder, options.build, chips_of(options, device),
                                    keep=False, only=only)
            cases = prepare.prepare(target, options.models, options.dtype)
        return run_all(options, device, folder, cases)


if __name__ == "__main__":
    sys.exit(main())
