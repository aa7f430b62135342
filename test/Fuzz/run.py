#!/usr/bin/env python3
"""Runs every fuzzer of a sanitizer build for a bounded time, from the seeds in
test/Fuzz/corpus/KIND. The last line is the count.

  run.py [KIND...] --seconds=N    how long each runs (default 10)
  run.py --build=FOLDER           where the fuzzers are (default build-sanitize)
  run.py --keep=FOLDER            keeps what they found out about the code there,
                                  for a longer run to go on from
  run.py KIND --input=FILE        runs one input: what a fuzzer found before

A finding is an input that crashes, hangs, reads where it must not, or fails
without saying why. It is kept as found-KIND-... in the build folder; once fixed
it becomes a seed of the corpus, under a name that says what it was.
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# libMLIR and libLLVM are not instrumented: a container that crosses the border
# looks overflowed, and memory that headers poison in an allocator both sides use
# stays poisoned. Leaks need ptrace, which a container may not allow.
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--build", default=os.path.join(ROOT, "build-sanitize"))
    parser.add_argument("--keep")
    parser.add_argument("--input")
    options = parser.parse_args()
    kinds = options.kinds or sorted(os.listdir(os.path.join(HERE, "corpus")))
    environment = {**os.environ, **ENVIRONMENT}
    if os.path.isdir("/dev/shm"):
        environment["TMPDIR"] = "/dev/shm"
    build = os.path.abspath(options.build)
    good = 0
    for kind in kinds:
        program = os.path.join(build, "bin", f"tp-{kind}-fuzzer")
        if options.input:
            return subprocess.call([program, options.input], env=environment)
        with tempfile.TemporaryDirectory() as folder:
            if options.keep:
                folder = os.path.join(os.path.abspath(options.keep), kind)
                os.makedirs(folder, exist_ok=True)
            done = subprocess.run(
                [program, f"-max_total_time={options.seconds}", "-timeout=300",
                 "-rss_limit_mb=4096", "-max_len=8192", "-verbosity=0",
                 f"-artifact_prefix={build}/found-{kind}-",
                 "-print_final_stats=1", folder, os.path.join(HERE, "corpus", kind)],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace")
        inputs = [line.split()[-1] for line in done.stdout.splitlines()
                  if line.startswith("stat::number_of_executed_units")]
        print(f"{kind}: {inputs[0] if inputs else 'no'} inputs in "
              f"{options.seconds} s, {'a finding' if done.returncode else 'no finding'}",
              flush=True)
        good += done.returncode == 0
        if done.returncode != 0:
            print(done.stdout[-6000:])
    print(f"{len(kinds)} fuzzers, {good} without a finding")
    return 0 if kinds and good == len(kinds) else 1


if __name__ == "__main__":
    sys.exit(main())
