#!/usr/bin/env python3
"""Keeps the tests free of what depends on the machine's speed, or on who else runs
tests on it. Prints every line that may, and `N lines`; exit status 0 if there is none.

  waits.py              looks through test/ and .ci/
  waits.py FILE...      looks through these

What is looked for, and what to write instead:

  a limit under 60 s    what must happen is waited for with patience: patience() of
                        test/Runtime/Patience.h, or a TIME_LIMIT of minutes
  a sleep               wait for an event: a line, a file, a process's state
                        (eventually(), waitUntilStopped() and the like)
  a clock               no test compares times; an outcome or a message says what
                        happened
  a fixed port or name  a port that the system gives (ReservedPort), a folder of
                        its own (TemporaryFolder, %t)

ALLOWED has the exceptions, each with its reason. One that no line needs any more
is an error too.
"""
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEAST = 60
ITSELF = ("test/waits.py", "test/Tools/waits.test")
NAMES = (".cpp", ".h", ".c", ".py", ".test", ".mlir", ".cases", ".sh")

LIMIT = re.compile(
    r"""(?: time_?out(?:_?seconds)? ["']?\s*[=:(]\s*
        | \btimeout\s+(?:-\S+\s+)*
        | \btime_?limit\w*\s*=\s*
        | -max-time[= ]
        | \b(?:wait|join|communicate|finish|poll)\(\s*(?:timeout=)?
        | \bbarrier\(\w+,\s*
        ) (?P<number>\d+(?:\.\d+)?) (?![\w.]*\d)""", re.X | re.I)
LITERAL = re.compile(r"""\bchrono::(?P<unit>hours|minutes|seconds|milliseconds|microseconds|
                         nanoseconds)(?:\s+\w+)?\((?P<number>[\d']+)\)""", re.X)
SECONDS = {"hours": 3600, "minutes": 60, "seconds": 1, "milliseconds": 1e-3,
           "microseconds": 1e-6, "nanoseconds": 1e-9}
SLEEP = re.compile(r"sleep_(?:for|until)\s*\(|\b(?:u|nano)?sleep\s*\(|\bsleep\s+[\d.$]")
CLOCK = re.compile(r"\b\w*[Cc]lock::now\(|clock_gettime\(|"
                   r"\btime\.(?:time|monotonic|perf_counter)\(|EXPECT_L[TE]\(.*econds")
FIXED = re.compile(r"(?:127\.0\.0\.1|localhost):[1-9]\d*|MASTER_PORT=\d|"
                   r"(?<![\w$}])/tmp/|/dev/shm/\w")

# (end of the file's path, part of the line; "" is any line of the file, why it may stay)
ALLOWED = [
    ("Python/Training/loop.py", "time.sleep(0.01)", "between two looks at the file of losses"),
    ("Runtime/Patience.cpp", "milliseconds(2)", "between two looks of eventually()"),
    ("Runtime/Patience.cpp", "Clock::now()", "how long eventually() looks"),
    ("BadInputs/ChangeWhileRead.c", "nanosleep", "between two looks at the clock of files"),
    ("BadInputs/ChangeWhileRead.c", "clock_gettime", "until a file gets a new time"),
    ("Runtime/transport/FaultTest.cpp", "(1.5 * seconds)",
     "all ranks stand still for longer than they would wait"),
    ("Runtime/transport/FaultTest.cpp", "random() % 100000", "any moment will do, a late one too"),
    ("Runtime/transport/BarrierTest.cpp", "milliseconds(5)",
     "between two heartbeats, with time-outs that grow"),
    ("Runtime/tp-run/SignalTest.cpp", "random() % 150000", "any moment will do, a late one too"),
    ("Runtime/tp-run/SignalTest.cpp", "std::this_thread::sleep_for($",
     "any moment will do, a late one too"),
    ("Runtime/tp-run/SignalTest.cpp", "exec sleep 10000", "a compiler that does not end by itself"),
    ("Runtime/tp-run/HostTest.cpp", "--start-timeout=0.2", "the rank is alone: nobody comes"),
    ("Runtime/cuda/CudaRunTest.cpp", "--start-timeout=1", "the rank is alone: nobody comes"),
    ("Runtime/transport/CudaStoreFaultTest.cpp", "options.timeout = 1;",
     "any error will do, that of a time-out too"),
    ("Runtime/transport/CudaStoreFaultTest.cpp", "transport->barrier(0, 1)",
     "any error will do, that of a time-out too"),
    ("Runtime/transport/CudaStoreTest.cpp", "MASTER_ADDR=h MASTER_PORT=1", "it is refused before"),
    ("Runtime/tp-run/TpRunTest.cpp", "--timeout=0.2 --inject-fault=hang@0:0",
     "any error will do, and no file is left"),
    ("Fakes/FakeFaults.cpp", "milliseconds(200)",
     "a call that is late; what waits for it has patience"),
    ("Runtime/transport/BarrierTest.cpp", "Clock::now()", "how long a rank loads"),
    ("Fakes/FakeNccl.cpp", "milliseconds(1)", "between two looks at a graph"),
    ("Unit/Sharding/CheapestPathTest.cpp", "steady_clock", "printed, never compared"),
    ("test/repeat.py", "time.monotonic()", "printed, never compared"),
    ("OnDevice/run.py", "", "printed, never compared"),
    ("Runtime/abi/CApiTest.cpp", "tcp://127.0.0.1:4000", "it is refused before"),
    ("Runtime/abi/CApiTest.cpp", "start_timeout_seconds = 0.01", "the rank is alone: nobody comes"),
    ("Python/errors.cases", "timeout=0.05", "the rank is alone: nobody comes"),
    ("Python/Ranks/agreement.py", "_timeout = 0.1",
     "the rank that is waited for comes after it has expired"),
    ("Python/families.py", "time.time()", "printed, never compared"),
    ("Python/generation.py", "time.perf_counter()", "printed, never compared"),
    ("OnDevice/launch.py", "time.monotonic()", "a limit of minutes for all ranks together"),
    ("Random/Assignments/check_assignments.py", "", "printed, never compared"),
    ("Random/random_programs.py", "", "how long a campaign goes on, which no test asks for"),
    ("Random/reduction.py", "", "how long a failure is made smaller"),
]


def finding(line):
    """What in the line depends on the machine, or None."""
    match = LIMIT.search(line)
    if match and 0 < float(match["number"]) < LEAST:
        return f"a limit under {LEAST} s"
    if SLEEP.search(line):
        return "a sleep"
    match = LITERAL.search(line)
    if match and 0 < int(match["number"].replace("'", "")) * SECONDS[match["unit"]] < LEAST:
        return f"a limit under {LEAST} s"
    if CLOCK.search(line):
        return "a clock"
    if FIXED.search(line):
        return "a fixed port or name"
    return None


def paths():
    for folder in ("test", ".ci"):
        for where, folders, files in os.walk(os.path.join(ROOT, folder)):
            folders[:] = sorted(set(folders) - {"__pycache__"})
            for name in sorted(files):
                path = os.path.join(where, name)
                if path.endswith(ITSELF):
                    continue
                if folder == ".ci" or name.endswith(NAMES):
                    yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    chosen, used, found = parser.parse_args().files, set(), 0
    for path in chosen or paths():
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                what = finding(line)
                allowed = [row for row in ALLOWED
                           if path.endswith(row[0]) and row[1] in line.strip() + "$"]
                used.update(allowed if what else [])
                if what and not allowed:
                    found += 1
                    print(f"{os.path.relpath(path, ROOT)}:{number}: {what}: {line.strip()}")
    for row in ALLOWED:
        if not chosen and row not in used:
            found += 1
            print(f"no line of {row[0]} needs this any more: {row[1]}")
    print(f"{found} lines")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
