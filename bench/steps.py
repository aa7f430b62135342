"""Compiles programs and measures their steps on one rank, for the benchmarks of
processors."""

import json
import os
import re
import subprocess
import time

import artifact


def compile_model(build, model, output, *flags):
    """Returns the seconds that it took."""
    command = [os.path.join(build, "bin", "tp-compile"), model, "-o", output, *flags]
    if not os.path.exists(command[0]):
        command = [os.path.join(build, "bin", "tp-opt"), model,
                   f"--tp-cpu-compile=output={output}", "-o", os.devnull]
    start = time.monotonic()
    subprocess.run(command, check=True)
    return time.monotonic() - start


def step_milliseconds(build, path, steps, *data):
    """CPU milliseconds per step, as tp-run counts them, with the arguments `data`."""
    text = subprocess.run(
        [os.path.join(build, "bin", "tp-run"), path, "--ranks=1", "--stats",
         f"--repeat={steps}", *data],
        check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1",
             "OMP_NUM_THREADS": "1"}).stdout
    time = r"([\d.,]+) (us|ms|s)"
    row = re.search(rf"^\s+\d+\s+{time}\s+{time}\s+{time}", text, re.M)
    if not row:
        raise SystemExit("tp-run --stats has another form:\n" + text)
    number, unit = row.groups()[-2:]
    return float(number.replace(",", "")) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def only_gemms(path, output):
    """Writes the program at `path` without all other commands; returns its flops."""
    sections = artifact.read(path)
    manifest = json.loads(sections["manifest"])
    entry = manifest["entries"][0]
    entry["program"] = [command for command in entry["program"]
                        if command["command"] == "gemm"]
    sections["manifest"] = json.dumps(manifest).encode()
    artifact.write(output, sections)
    return sum(map(artifact.flops, entry["program"]))
