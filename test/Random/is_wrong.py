#!/usr/bin/env python3
"""Says whether tp is still wrong about a program, for tp-reduce.

  is_wrong.py [--kind=crash|compile|run|differ] [--like=TEXT] [--seed=S] [--explain] PROGRAM.mlir

Exit status 1: it is ("interesting", as the reducer has it), 0: it is right, or refused
with a located error, or no program at all. The program carries its pins (what
tp-apply-plan writes). With --kind or --like only this kind of error counts, or one
whose message holds the text; without them a program may turn into another failure on
the way. Compared are N ranks with the program lowered by upstream passes, or with one
rank where these cannot lower it.
"""

import argparse
import os
import shutil
import sys
import tempfile

import check
import program_text
import reference


def failure_of(text, seed, folder, kind=None):
    """The check.Failure of a program, or None. Where only failures of `kind` count
    nothing is done that cannot show one."""
    try:
        inputs = check.inputs_of(text, seed)
        program_text.number_of_ranks(text)
    except (AttributeError, IndexError, KeyError, ValueError):
        return None
    path = os.path.join(folder, "model.mlir")
    with open(path, "w") as file:
        file.write(text)
    try:
        if kind in ("crash", "compile"):
            check.compile_program(path, os.path.join(folder, "many.tp"), ["--verify"])
            return None
        expected = reference.run([(0, text)], {0: inputs}, folder)[0]
        check.check(path, text, inputs, None if isinstance(expected, str) else expected,
                    one_rank=True)
    except check.Refusal:
        return None
    except check.Failure as failure:
        return failure
    return None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind")
    parser.add_argument("--like", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--explain", action="store_true", help="print the failure")
    parser.add_argument("program")
    options = parser.parse_args()
    with open(options.program) as file:
        text = file.read()
    folder = tempfile.mkdtemp(prefix="is-wrong-")
    try:
        failure = failure_of(text, options.seed, folder, options.kind)
    finally:
        shutil.rmtree(folder)
    if failure and options.explain:
        print(failure)
    return int(failure is not None and options.kind in (None, failure.kind) and
               options.like in str(failure))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as error:  # Whatever goes wrong here is no fault of tp's.
        print(f"is_wrong.py: {error!r}", file=sys.stderr)
        sys.exit(0)
