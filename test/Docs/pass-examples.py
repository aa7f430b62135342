#!/usr/bin/env python3
"""Runs the example of every pass in docs/reference/passes.md: its first block of code is
a program, its second what the pass makes of it.

  pass-examples.py PASSES.md

The first block is ```mlir. Its first line may say how tp-opt is called, if not with the
pass alone: `// tp-opt --PASS=OPTION ...`. The second block is ```mlir for the program that
comes out, else ```text for what the pass prints, or for the error by which it refuses the
program, without its place.
"""
import argparse
import re
import shlex
import subprocess
import sys

CALL = re.compile(r"// tp-opt (.*)\n")
ERROR = re.compile(r"^[^\n]*?\b(error: .*)$", re.M)


def outcome(name, program, kind):
    """What tp-opt makes of the program, as the second block has it."""
    call = CALL.match(program)
    words = shlex.split(call[1]) if call else ["--" + name]
    kept = ["-o", "/dev/null"] if kind == "text" else []
    done = subprocess.run(["tp-opt", *words, *kept], input=program, text=True,
                          capture_output=True)
    error = ERROR.search(done.stderr)
    if kind == "text" and done.returncode != 0 and error:
        return error[1]
    return done.stdout.strip() if done.returncode == 0 else done.stderr + done.stdout


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    with open(parser.parse_args().page) as file:
        sections = re.split(r"^### `-(.*)`$", file.read(), flags=re.M)[1:]
    count = 0
    for name, text in zip(sections[::2], sections[1::2]):
        blocks = re.findall(r"^```(mlir|text)\n(.*?)^```$", text, flags=re.M | re.S)
        if not blocks:
            continue
        if [kind for kind, _ in blocks] not in (["mlir", "mlir"], ["mlir", "text"]):
            print(f"{name}: expected a block before and a block after")
            return 1
        (_, program), (kind, expected) = blocks
        got = outcome(name, program, kind)
        # TableGen ends a description at "}]".
        if got != expected.replace("} ]", "}]").strip():
            print(f"{name}: the pass gives\n{got}")
            return 1
        count += 1
    print(f"{count} examples hold")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
