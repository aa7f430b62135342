#!/usr/bin/env python3
"""Runs the tests with processes, threads or time-outs many times each.

  repeat.py --times=50              every one of them, 50 times
  repeat.py --times=50 --busy=8     beside eight loops that do nothing
  repeat.py --copies=2              that many at the same time, each in a folder of
                                    its own, as two people's test commands would be
  repeat.py Store --list            those whose names hold the text

Prints `NAME: 50 of 50 passed` for each, what a failed run said, and a last line with
the sum; exit status 0 only if all passed. Tests are those of the GoogleTest programs
whose source starts threads or processes, lit tests that run ranks as processes, kill
them or meet time-outs, and bad inputs that change while they are read. Left out are
lit tests that mostly compile, HEAVY. Needs what `ninja -C build` makes.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = ("tp-runtime-tests", "tp-runtime-cuda-tests")
# What in a source says that its tests have more than one thread.
CONCURRENT = re.compile(r"std::thread|ToolRun|CudaRun|LaunchedRanks|runRanks|LoneRank|fork\(|"
                        r"std::system")
# The same of a lit test.
LIT_CONCURRENT = re.compile(r"transport=processes|inject-fault|--timeout|LD_PRELOAD|TP_FAKE_FAULT|"
                            r"(?:agreement|interrupt|run_llama)\.py")
# What their ranks do, tests of the runtime do too.
HEAVY = ("Bench/gpu.test", "OnDevice/on-fakes.test")
CHANGING = "BadInputs/files.cases, files that change while they are read"
# Of one run of a program. Nothing comes near it.
TIME_LIMIT = 7200


def tests_of(build, name):
    """TEST names of the program whose sources are concurrent, by suite."""
    folder = os.path.join(ROOT, "test", "Runtime")
    suites = set()
    for path in glob.glob(os.path.join(folder, "*", "*Test.cpp")):
        with open(path, encoding="utf-8") as source:
            text = source.read()
        if CONCURRENT.search(text):
            suites.update(re.findall(r"^TEST(?:_[FP])?\((\w+),", text, re.M))
    program = os.path.join(build, "bin", name)
    listing = subprocess.run([program, "--gtest_list_tests"], check=True,
                             capture_output=True, text=True).stdout
    suite, found = "", []
    for line in listing.splitlines():
        words = line.split("#")[0].rstrip()
        if words.endswith(".") and not words.startswith(" "):
            suite = words
        elif words.startswith("  ") and suite[:-1].split("/")[-1] in suites:
            found.append((program, suite + words.strip()))
    return found


def lit_tests(build):
    found = []
    for where, folders, files in os.walk(os.path.join(ROOT, "test")):
        for file in files:
            path = os.path.join(where, file)
            if not file.endswith((".test", ".mlir")) or "Inputs" in path:
                continue
            with open(path, encoding="utf-8") as source:
                text = source.read()
            # Files of the compiler that only say such words run no ranks.
            if LIT_CONCURRENT.search("\n".join(
                    line for line in text.splitlines() if "RUN:" in line)):
                name = os.path.relpath(path, os.path.join(ROOT, "test"))
                if name not in HEAVY:
                    found.append(("lit", name))
    return sorted(found) + [("bad inputs", CHANGING)]


# Of this process; none begins once it is to stop.
RUNNING, STOPPED = set(), threading.Event()


def execute(words, environment):
    """Exit status and what it said; None if it is still running after TIME_LIMIT."""
    if STOPPED.is_set():
        raise KeyboardInterrupt
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace",
                               env={**os.environ, **environment})
    RUNNING.add(process)
    try:
        said = process.communicate(timeout=TIME_LIMIT)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return None, process.communicate()[0]
    finally:
        RUNNING.discard(process)
    return process.returncode, said


def run_program(program, name, times, folder):
    """How many runs passed, and what the others said. A run that ends the
    program begins another one."""
    passed = done = 0
    said = ""
    while done < times:
        words = [program, f"--gtest_filter={name}", "--gtest_brief=1",
                 f"--gtest_repeat={times - done}"]
        status, text = execute(words, {"TMPDIR": folder})
        if status is None:
            return passed, said + text + f"still running after {TIME_LIMIT} s\n"
        good = text.count("[  PASSED  ] 1 test") + text.count("[  SKIPPED ] 1 test")
        bad = text.count(" FAILED TEST")
        passed += good
        # What is neither passed nor failed crashed.
        done += good + bad
        if bad or good + bad < 1:
            said += text
        if good + bad == 0 or (done < times and status < 0):
            said += f"ended with {status}\n"
            done += 1
    return passed, said


def run_command(words, build, times, folder):
    """A test that is a command."""
    passed, said = 0, ""
    path = os.pathsep.join([os.path.join(build, "bin"), os.environ["PATH"]])
    for _ in range(times):
        status, text = execute(words, {"TMPDIR": folder, "PATH": path})
        if status == 0:
            passed += 1
        else:
            said += text
    return passed, said


def show(name, passed, times, said, seconds):
    print(f"{name}: {passed} of {times} passed ({seconds:.0f} s)", flush=True)
    if passed != times:
        print(said[-4000:], flush=True)


def repeat(options, build, test):
    kind, name = test
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.copies) as pool, \
            tempfile.TemporaryDirectory() as folder:
        copies = [os.path.join(folder, str(i)) for i in range(options.copies)]
        for copy in copies:
            os.mkdir(copy)
        if kind == "lit":
            # Its files are in the build's folder: there is one of it at a time.
            words = [os.path.join(build, "bin", "lit"), "-v", os.path.join(build, "test", name)]
            results = [run_command(words, build, options.times, folder)]
        elif kind == "bad inputs":
            bad = os.path.join(ROOT, "test", "BadInputs")
            words = [sys.executable, os.path.join(bad, "run.py"),
                     os.path.join(bad, "files.cases"), "--only=while"]
            results = list(pool.map(
                lambda copy: run_command(words, build, options.times, copy), copies))
        else:
            results = list(pool.map(
                lambda copy: run_program(kind, name, options.times, copy), copies))
    times = options.times * len(results)
    passed = sum(result[0] for result in results)
    show(name, passed, times, "".join(result[1] for result in results),
         time.monotonic() - start)
    return passed, times


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filter", nargs="*", help="texts, one of which a name holds")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--busy", type=int, default=0, metavar="LOOPS")
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="tests at a time")
    parser.add_argument("--no-lit", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    tests = [test for name in PROGRAMS for test in tests_of(build, name)]
    if not options.no_lit:
        tests += lit_tests(build)
    tests = [test for test in tests
             if not options.filter or any(text in test[1] for text in options.filter)]
    if options.list:
        print("\n".join(name for _, name in tests))
        return 0
    loops = [subprocess.Popen(["nice", "-n", "5", "sh", "-c", "while :; do :; done"])
             for _ in range(options.busy)]
    start = time.monotonic()
    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            try:
                results = list(pool.map(lambda test: repeat(options, build, test), tests))
            except BaseException:
                STOPPED.set()
                for process in list(RUNNING):
                    process.kill()
                raise
    except KeyboardInterrupt:
        sys.exit("interrupted")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    passed, times = (sum(column) for column in zip(*results)) if results else (0, 0)
    print(f"{len(tests)} tests, {passed} of {times} runs passed in "
          f"{time.monotonic() - start:.0f} s")
    return 0 if results and passed == times else 1


if __name__ == "__main__":
    sys.exit(main())
