"""What may break a rule: the rows of exceptions.txt."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from house.tree import Tree, Violation

PATH = "scripts/house/exceptions.txt"


@dataclass(frozen=True)
class Row:
    line: int
    rule: str
    path: str
    subject: str

    def covers(self, violation: Violation) -> bool:
        return (self.rule == violation.rule and self.path == violation.path
                and self.subject in ("", violation.subject))


def wrong(line: int, what: str, expected: str, advice: str) -> Violation:
    return Violation("exception", PATH, line, "", what, expected, advice)


def unexcepted(tree: Tree, violations: Iterable[Violation], rules: Iterable[str],
               known: Iterable[str]) -> Iterator[Violation]:
    """The violations that no row covers, then what is wrong with the rows."""
    rows: list[Row] = []
    used: set[Row] = set()
    bad: list[Violation] = []
    for number, line in enumerate(tree.lines(PATH) if PATH in tree.paths else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = [word.strip() for word in line.split("|")]
        if len(words) != 4 or words[0] not in known or not words[1] or not words[3]:
            bad.append(wrong(number, f"'{line}'", "rule | path | subject | why", "write all four"))
        else:
            rows.append(Row(number, *words[:3]))
    for violation in violations:
        covering = {row for row in rows if row.covers(violation)}
        used |= covering
        if not covering:
            yield violation
    yield from bad
    for row in rows:
        if row.rule in rules and row not in used:
            yield wrong(row.line, f"nothing of {row.path} needs this exception of {row.rule}",
                        "only what is needed", "remove the row")
