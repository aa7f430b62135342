"""Checks a table of ops and their rules, `| op | rule |`, against what
--tp-print-sharding-rules writes for the ops of a program.

  rule-examples.py PAGE PROGRAM REMARKS

A row names the op and shapes of its tensors. Its rule is the op's remark, of which `...` leaves
out the end.
"""

import re
import sys


def rows_of(page):
    """[(op, its shapes, rule)] of the table."""
    table = re.search(r"^\| op \| rule \|\n\|---\|---\|\n((?:\|.*\n)+)", page, re.M)
    for row in table[1].splitlines():
        what, rule = re.fullmatch(r"\| (.*) \| `(.*)` \|", row).groups()
        yield re.search(r"`(.*?)`", what)[1], re.findall(r"\d+(?:x\d+)+", what), rule


def remarks_of(program, remarks):
    """[(op, the text of the op, rule)]; the last line of an op's text has its types."""
    lines = program.splitlines()
    for number, rule in re.findall(r":(\d+):\d+: remark: (.*)", remarks):
        first = last = int(number) - 1
        if lines[first].endswith("{"):
            while not lines[last].startswith("  }"):
                last += 1
        text = "\n".join(lines[first:last + 1])
        yield re.search(r"= (\w+\.\w+)", text)[1], text, rule


def main():
    page, program, remarks = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
    rows, found = list(rows_of(page)), list(remarks_of(program, remarks))
    if [op for op, _, _ in rows] != [op for op, _, _ in found]:
        sys.exit(f"the table has {[op for op, _, _ in rows]}, "
                 f"the program {[op for op, _, _ in found]}")
    for (op, shapes, rule), (_, text, remark) in zip(rows, found):
        missing = [shape for shape in shapes if f"tensor<{shape}x" not in text]
        if missing:
            sys.exit(f"{op}: the program has no tensor of {', '.join(missing)}")
        start, dots, _ = rule.partition("...")
        if not remark.startswith(start) if dots else remark != rule:
            sys.exit(f"{op}: expected '{remark}', the table has '{rule}'")
    print(f"{len(rows)} rules")


if __name__ == "__main__":
    main()
