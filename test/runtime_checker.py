"""Runs the tests of the runtime against a fault that plant-faults.py has planted in it.

The faults are in test/Faults/runtime_*.py. GoogleTests catch them; the last field of a fault
says which of them are run, so that a fault takes seconds. Tests of the store are in the
program that has the fakes of devices.
"""
import os
import subprocess

# Of a program's tests, of which many take a fault to the end of their patience.
TIME_LIMIT = 900


class RuntimeChecker:
    """Builds the runtime of the copy and runs its tests. No optimization: a
    fault costs a compilation."""

    def __init__(self, builder):
        self.builder = builder
        self.build = os.path.join(builder.source, "build-runtime")

    def make(self, programs):
        if not os.path.isfile(os.path.join(self.build, "build.ninja")):
            self.builder.call(
                ["cmake", "-G", "Ninja", "-S", f"{self.builder.source}/runtime",
                 "-B", self.build, "-DCMAKE_C_COMPILER=clang-22",
                 "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_BUILD_TYPE=None",
                 "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld-22"])
        self.builder.call(["ninja", "-C", self.build,
                           f"-j{self.builder.jobs}", *programs])

    def first_failure(self, tests):
        """The name of the first test that fails, or None."""
        filters = {}
        for test in tests.split(":"):
            onFakes = test.startswith(("Cuda", "Store", "Launcher"))
            name = "tp-runtime-cuda-tests" if onFakes else "tp-runtime-tests"
            filters.setdefault(name, []).append(test)
        self.make(filters)
        return next(filter(None, (self.failure_of(name, ":".join(of))
                                  for name, of in filters.items())), None)

    def failure_of(self, program, tests):
        # What a fault makes wait for ever is not waited for that long.
        environment = {**os.environ, "TP_TEST_PATIENCE": "60"}
        try:
            done = subprocess.run(
                [f"{self.build}/bin/{program}", "--gtest_fail_fast",
                 f"--gtest_filter={tests}"], capture_output=True, text=True,
                errors="replace", timeout=TIME_LIMIT, env=environment)
        except subprocess.TimeoutExpired:
            return f"{tests}: time-out"
        if done.returncode == 0:
            if " 0 tests ran" in done.stdout:
                raise SystemExit(f"error: no test is called {tests}")
            return None
        names = [line[13:].split(" (")[0] for line in done.stdout.split("\n")
                 if line.startswith(("[  FAILED  ] ", "[ RUN      ] "))]
        failed = [line[13:].split(" (")[0].split(",")[0]
                  for line in done.stdout.split("\n")
                  if line.startswith("[  FAILED  ] ")]
        return failed[0] if failed else f"{names[-1] if names else '?'} (crash)"
