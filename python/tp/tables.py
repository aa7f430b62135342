"""Tables that print as text in a terminal and as HTML in a notebook."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any, Generic, TypeVar, overload

Row = TypeVar("Row")


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


class Table(Sequence[Row], Generic[Row]):
    """Rows of one dataclass. `columns` are the fields that are shown; `.rows` has all of them."""

    def __init__(self, rows: Sequence[Row], columns: Sequence[str], title: str) -> None:
        self.rows = list(rows)
        self.columns = list(columns)
        self.title = title

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __eq__(self, other: object) -> bool:
        return list(other) == self.rows if isinstance(other, (Table, list)) else NotImplemented

    def _cells(self) -> list[list[str]]:
        return [[_cell(getattr(row, column)) for column in self.columns] for row in self.rows]

    def __repr__(self) -> str:
        heads = [column.replace("_", " ") for column in self.columns]
        cells = self._cells()
        widths = [max(len(line[i]) for line in [heads, *cells]) for i in range(len(heads))]
        numbers = [bool(self.rows) and all(isinstance(getattr(row, column), int)
                                           for row in self.rows) for column in self.columns]
        lines = [self.title]
        for line in [heads, *cells]:
            lines.append("  " + "  ".join(
                text.rjust(width) if number else text.ljust(width)
                for text, width, number in zip(line, widths, numbers)).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(column.replace('_', ' '))}</th>" for column in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in line) + "</tr>"
                       for line in self._cells())
        return (f"<p><b>{escape(self.title)}</b></p><table><thead><tr>{head}</tr></thead>"
                f"<tbody>{body}</tbody></table>")

    def as_dicts(self) -> list[dict[str, Any]]:
        """Every row with all of its fields, for pandas and the like."""
        return [{item.name: getattr(row, item.name) for item in fields(row)}
                for row in self.rows if is_dataclass(row)]
