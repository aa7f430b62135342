#!/usr/bin/env python3
"""Random programs under random layouts: what N ranks compute must be what the
program computes by itself, lowered by upstream passes alone.

  random_programs.py FOLDER [--seed=S] [--count=N | --minutes=M] [--jobs=J] [--ops=K]

Every program is compiled with the simulator checking every stage and run on its
ranks with poisoned padding. Numbers are compared exactly where their sums are
exact. A located error of tp-compile is fine; such errors are counted by message
and printed. Every program is a line when it ends. What fails is reduced and kept
as FOLDER/seed-N.mlir.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import re
import shutil
import sys
import time

import check
import layouts
import program_text
import reduction
import reference
from program import Program

BATCH = 20


def generate(seed, most_ops, features):
    """The text of one program."""
    rng = random.Random(seed)
    program = Program(rng, features)
    for _ in range(rng.randint(1, most_ops)):
        program.step()
    return f"// seed {seed}\n" + program.text(program.results())


def run_batch(folder, seeds, most_ops, features):
    """[(seed, "equal" | "refused" | "failed", message)], and how often each op stands in
    programs that are equal."""
    folder = os.path.join(folder, f"batch-{seeds[0]}")
    os.makedirs(folder, exist_ok=True)
    texts = [(seed, generate(seed, most_ops, features)) for seed in seeds]
    inputs = {seed: check.inputs_of(text, seed) for seed, text in texts}
    expected = reference.run(texts, inputs, folder)
    outcomes, ops = [], collections.Counter()
    for seed, text in texts:
        rng = random.Random(-1 - seed)
        work = os.path.join(folder, f"seed-{seed}")
        os.makedirs(work, exist_ok=True)
        path = os.path.join(work, "model.mlir")
        with open(path, "w") as file:
            file.write(text)
        answer = expected[seed]
        no_reference = isinstance(answer, str)
        note = f"no reference: {answer}" if no_reference else ""
        try:
            check.check(path, text, inputs[seed], None if no_reference else answer,
                        one_rank=rng.random() < 0.1,
                        mode="processes" if rng.random() < 0.05 else "threads")
            outcomes.append((seed, "equal", note))
            ops.update(re.findall(r" = (\w+\.\w+)", text))
        except check.Refusal as error:
            outcomes.append((seed, "refused", str(error)))
        except check.Failure as error:
            outcomes.append((seed, "failed", str(error)))
            with open(os.path.join(os.path.dirname(folder), f"seed-{seed}.mlir"), "w") as file:
                file.write("".join(f"// {line}\n" for line in str(error).splitlines()[:6]) +
                           text)
        shutil.rmtree(work)
        _, outcome, message = outcomes[-1]
        print(f"seed {seed}: {outcome}" + (f": {message}" if outcome == "failed" else ""),
              flush=True)
    shutil.rmtree(folder)
    return outcomes, ops


def reduce_failures(folder, failures, seconds):
    """The shortest program of every kind of failure, made smaller."""
    kinds = {}
    for seed, message in failures:
        with open(os.path.join(folder, f"seed-{seed}.mlir")) as file:
            text = file.read()
        kind = kind_of(message)[:60]
        if kind not in kinds or len(text) < len(kinds[kind][2]):
            kinds[kind] = seed, message, text
    start = time.time()
    for seed, message, text in kinds.values():
        left = seconds - (time.time() - start)
        smaller = left > 0 and reduction.reduce(text, seed, message.split(":")[0], folder, left)
        if smaller:
            path = os.path.join(folder, f"seed-{seed}-reduced.mlir")
            with open(path, "w") as file:
                file.write(smaller)
            print(f"reduced: {path}", flush=True)


def kind_of(message):
    """A message without its numbers and types."""
    return re.sub(r"\d+", "N", re.sub(r"'(tensor|vector)<.*?>'", "TYPE", message))[:160]


class Tally:
    def __init__(self):
        self.counts, self.refusals = collections.Counter(), collections.Counter()
        self.notes, self.failures = collections.Counter(), []
        self.ops = collections.Counter()

    def add(self, outcomes, ops):
        self.ops += ops
        for seed, outcome, message in outcomes:
            self.counts[outcome] += 1
            kind = kind_of(message)
            if outcome == "refused":
                self.refusals[kind] += 1
            elif outcome == "failed":
                self.failures.append((seed, message))
            elif message:
                self.notes[kind] += 1

    def show(self, seeds, seconds):
        print("ops:", ", ".join(f"{op} {count}" for op, count in sorted(self.ops.items())))
        for table, what in ((self.notes, "without reference"), (self.refusals, "refused")):
            for text, count in table.most_common():
                print(f"{count:6} {what}: {text}")
        print(f"seeds {seeds} in {seconds:.0f} s: {self.counts['equal']} equal, "
              f"{self.counts['refused']} refused, {self.counts['failed']} failed", flush=True)


def batches(options):
    """Lists of seeds, until count or time is used up."""
    start, seed = time.time(), options.seed
    while True:
        size = BATCH
        if options.minutes is None:
            size = min(size, options.seed + options.count - seed)
        elif time.time() - start > 60 * options.minutes:
            size = 0
        if not size:
            return
        yield list(range(seed, seed + size))
        seed += size


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ops", type=int, default=12)
    parser.add_argument("--features", default="",
                        help="other probabilities of features of layouts.py: uneven=0.5,...")
    parser.add_argument("--print", action="store_true", help="print the first program only")
    parser.add_argument("--reduce-minutes", type=float, default=5,
                        help="how long failures are made smaller")
    parser.add_argument("--most-refused", type=float, default=0.4,
                        help="fails if a larger share of the programs is refused")
    options = parser.parse_args()
    for change in filter(None, options.features.split(",")):
        name, probability = change.split("=")
        if name not in layouts.FEATURES:
            parser.error(f"no feature {name}, there are: {', '.join(layouts.FEATURES)}")
        layouts.FEATURES[name] = float(probability)
    if options.print:
        print(generate(options.seed, options.ops, layouts.FEATURES))
        return 0
    for tool in ("tp-compile", "tp-run", "tp-reduce"):
        if not shutil.which(tool):
            parser.error(f"{tool} is not in the search path")
    os.makedirs(options.folder, exist_ok=True)
    tally, start, last = Tally(), time.time(), options.seed
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        running = set()
        for seeds in batches(options):
            last = seeds[-1]
            running.add(pool.submit(run_batch, options.folder, seeds, options.ops, layouts.FEATURES))
            if len(running) > options.jobs:
                done, running = concurrent.futures.wait(
                    running, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    tally.add(*future.result())
        for future in running:
            tally.add(*future.result())
    reduce_failures(options.folder, tally.failures, 60 * options.reduce_minutes)
    tally.show(f"{options.seed} to {last}", time.time() - start)
    total = sum(tally.counts.values())
    return int(tally.counts["failed"] > 0 or not total or
               tally.counts["refused"] > options.most_refused * total)


__all__ = ["program_text"]

if __name__ == "__main__":
    sys.exit(main())
