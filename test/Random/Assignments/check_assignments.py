#!/usr/bin/env python3
"""What tp-propagate finds costs exactly what the cheapest layouts of all cost: those
that tp-cheapest-assignment of tp-opt finds by running every op under every layout of
its operands and trying all strategies.

  check_assignments.py FOLDER [--seed=S] [--count=N] [--ops=K] [--objective=O] [--jobs=J]

Programs come from assignment_graphs.py. What differs is printed and kept as
FOLDER/seed-N.mlir.
"""

import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import time

import assignment_graphs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from seeds import parser_of

BATCH = 25
ANSWER = re.compile(r"^seed-(\d+):1:1: (remark|error): (.*)$", re.M)


def answers(path, pass_text):
    """What tp-opt says of every program of a file, by seed."""
    done = subprocess.run(
        ["tp-opt", path, "--mlir-disable-threading", "--mlir-print-op-on-diagnostic=false",
         "-o", os.devnull,
         f"--pass-pipeline=builtin.module(builtin.module({pass_text}))"],
        capture_output=True, text=True)
    found = {}
    for seed, severity, text in ANSWER.findall(done.stderr):
        cost = re.search(r"cost (\d+ \+ \d+)$", text)
        found[int(seed)] = cost.group(1) if severity == "remark" and cost else text
    return found, done.stderr


def run_batch(folder, seeds, most_ops, objective):
    """[(seed, what tp-propagate found, what is cheapest)]."""
    path = os.path.join(folder, f"batch-{seeds[0]}.mlir")
    texts = {seed: assignment_graphs.generate(seed, most_ops) for seed in seeds}
    with open(path, "w") as file:
        file.write("".join(texts.values()))
    solved, solved_text = answers(path, f"tp-propagate{{report-solver objective={objective}}}")
    searched, searched_text = answers(path, f"tp-cheapest-assignment{{objective={objective}}}")
    outcomes = []
    for seed in seeds:
        got, least = solved.get(seed, "no answer"), searched.get(seed, "no answer")
        outcomes.append((seed, got, least))
        if got != least or "+" not in got:
            with open(os.path.join(folder, f"seed-{seed}.mlir"), "w") as file:
                file.write(texts[seed])
    if "no answer" in [text for _, got, least in outcomes for text in (got, least)]:
        sys.stderr.write(solved_text[-2000:] + searched_text[-2000:])
    os.remove(path)
    return outcomes


def main():
    parser = parser_of("folder", count=100, description=__doc__.split("\n\n")[0])
    parser.add_argument("--ops", type=int, default=8, help="the most of one program")
    parser.add_argument("--objective", default="communication")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    started = time.monotonic()
    seeds = list(range(options.seed, options.seed + options.count))
    batches = [seeds[i:i + BATCH] for i in range(0, len(seeds), BATCH)]
    count = collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for outcomes in pool.map(run_batch, *zip(*(
                (options.folder, batch, options.ops, options.objective) for batch in batches))):
            for seed, got, least in outcomes:
                if got == least and "+" in got:
                    count["equal"] += 1
                    continue
                count["different"] += 1
                print(f"seed {seed}: tp-propagate found {got}, the cheapest is {least}")
    print(f"seeds {seeds[0]} to {seeds[-1]} in {time.monotonic() - started:.0f} s: "
          f"{count['equal']} equal, {count['different']} different")
    return count["different"] > 0


if __name__ == "__main__":
    sys.exit(main())
