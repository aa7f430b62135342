#!/usr/bin/env python3
"""Builds tp and runs all its tests; the last line is `N passed, N failed`.

GoogleTest programs are those that CTest knows; lit tests are everything else
under test/. Exit status 0 only if nothing failed and something ran.

    scripts/test.py                  builds, and runs what needs no device
    scripts/test.py --all            also what continuous integration leaves out: models of
                                     all families, more meshes and seeds, about 40 minutes
    scripts/test.py --jobs=N         N tests at a time, instead of one for each processor
    scripts/test.py --gpu [options]  what needs one; --gpu --help says more
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build")
LIT = os.path.join(BUILD, "bin", "lit")


def say(text):
    print(text, flush=True)


def run_unit_test(test):
    """Runs one CTest entry. Returns what it printed, and how many of its single tests there are
    and how many failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = test["command"] + ["--gtest_brief=1", f"--gtest_output=json:{report}"]
        directory = next((p["value"] for p in test.get("properties", [])
                          if p["name"] == "WORKING_DIRECTORY"), BUILD)
        done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        try:
            with open(report) as file:
                result = json.load(file)
            total, bad = result["tests"], result["failures"]
        except (OSError, ValueError, KeyError):
            total, bad = 1, 1  # it ended before it could report
    if done.returncode != 0 and bad == 0:
        bad, total = 1, max(total, 1)
    return done.stdout, total, bad


def run_unit_tests(jobs):
    """Runs every CTest entry, `jobs` at a time; counts the single tests inside them."""
    listing = json.loads(subprocess.check_output(
        ["ctest", "--test-dir", BUILD, "--show-only=json-v1"]))
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(run_unit_test, test): test["name"] for test in listing["tests"]}
        for ended in concurrent.futures.as_completed(running):
            printed, total, bad = ended.result()
            passed, failed = passed + total - bad, failed + bad
            say(f"{printed}{running[ended]}: {total - bad} passed, {bad} failed")
    return passed, failed


def run_lit_tests(jobs, parameters):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "lit.json")
        subprocess.call([LIT, "-v", f"-j{jobs}", "-o", report, *parameters,
                         os.path.join(BUILD, "test")])
        try:
            with open(report) as file:
                tests = json.load(file)["tests"]
        except (OSError, ValueError, KeyError):
            return 0, 1
    good = sum(t["code"] in ("PASS", "XFAIL") for t in tests)
    bad = sum(t["code"] not in ("PASS", "XFAIL", "UNSUPPORTED") for t in tests)
    if len(tests) > good + bad:
        say(f"{len(tests) - good - bad} tests left out: they need a package or device that is "
            "not here")
    return good, bad


def main():
    if "--gpu" in sys.argv:
        # What it needs is built already, or packed.
        words = [word for word in sys.argv[1:] if word != "--gpu"]
        return subprocess.call(
            [sys.executable, os.path.join(ROOT, "test", "OnDevice", "run.py"), *words])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="also the models of all families")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="how many tests run at a time; one for each processor by default")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error(f"--jobs is {options.jobs}; expected at least 1")
    if subprocess.call([os.path.join(ROOT, "scripts", "setup.sh"), "--frontends"]) != 0:
        say("the build failed")
        say("0 passed, 1 failed")
        return 1
    unit = run_unit_tests(options.jobs)
    lit = run_lit_tests(options.jobs, ["--param=all-models=1"] if options.all else [])
    passed, failed = unit[0] + lit[0], unit[1] + lit[1]
    say(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
