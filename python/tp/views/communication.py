"""The collectives of a step as a tree of modules, forward and backward apart."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape

from ..artifact import Collective
from ..tables import Table

_BACKWARD, _OPTIMIZER = "bwd:", "<optim>"
DIRECTIONS = ("forward", "backward", "optimizer")


@dataclass
class Sent:
    """Collectives of one kind: how many a step runs, and their payload bytes."""
    count: int = 0
    payload_bytes: int = 0

    def __str__(self) -> str:
        return f"{self.count:,}: {self.payload_bytes:,} B" if self.count else ""


@dataclass
class ModuleNode:
    """A module, with what it and the modules in it send: `sent["forward"]["all_reduce"]`.

    Attributes:
        path: its path; "" for the model.
        children: the modules in it that send something, by the rest of their paths.
        own: the collectives that are its own, and of no module in it.
    """
    path: str = ""
    sent: dict[str, dict[str, Sent]] = field(default_factory=dict)
    own: list[Collective] = field(default_factory=list)
    children: dict[str, ModuleNode] = field(default_factory=dict)

    def __getitem__(self, name: str) -> ModuleNode:
        return self.children[name]

    def __iter__(self) -> Iterator[ModuleNode]:
        return iter(self.children.values())

    def find(self, path: str) -> ModuleNode | None:
        """The module of this path, or None if it sends nothing."""
        if path == self.path:
            return self
        found = (child.find(path) for child in self
                 if path == child.path or path.startswith(child.path + "."))
        return next((node for node in found if node is not None), None)

    def kinds(self) -> list[str]:
        """Kinds of collectives in it, in order of first use."""
        return list(dict.fromkeys(kind for kinds in self.sent.values() for kind in kinds))

    def _lines(self, name: str, depth: int, directions: list[str]) -> Iterator[list[str]]:
        for number, kind in enumerate(self.kinds() or [""]):
            cells = [str(self.sent.get(direction, {}).get(kind, "")) for direction in directions]
            yield ["  " * depth + name if number == 0 else "", kind, *cells]
        for child_name, child in self.children.items():
            yield from child._lines(child_name, depth + 1, directions)

    def _cells(self) -> list[list[str]]:
        directions = [direction for direction in DIRECTIONS
                      if direction == "forward" or direction in self.sent]
        return [["module", "collective", *directions],
                *self._lines(self.path or "the model", 0, directions)]

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
        lines = ["collectives a step by module, and their payload bytes"]
        for line in cells:
            lines.append("  " + "  ".join(text.ljust(width)
                                          for text, width in zip(line, widths)).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        rows = "".join("<tr>" + "".join(
            f"<td style='white-space: pre; text-align: left'>{escape(text)}</td>" for text in line)
            + "</tr>" for line in body)
        return ("<table><thead><tr>" + "".join(f"<th>{escape(text)}</th>" for text in head)
                + f"</tr></thead><tbody>{rows}</tbody></table>")


class Collectives(Table[Collective]):
    """The collectives of a step, in order. `.tree` has them by module."""

    @property
    def tree(self) -> ModuleNode:
        """The same as a tree of modules, forward, backward and optimizer apart."""
        return tree_of(self.rows)


def tree_of(rows: Iterable[Collective]) -> ModuleNode:
    """The tree of these collectives. A module that sends nothing itself and has one child is left
    out: `attention.wo`."""
    root = ModuleNode()
    for row in rows:
        direction, path = _place(row.module)
        node = root
        _add(node, direction, row)
        for name in path:
            below = f"{node.path}.{name}" if node.path else name
            node = node.children.setdefault(name, ModuleNode(below))
            _add(node, direction, row)
        node.own.append(row)
    root.children = dict(_joined(name, child) for name, child in root.children.items())
    return root


def _place(module: str) -> tuple[str, list[str]]:
    """The direction, and the names that lead to the module."""
    direction = "forward"
    if module.startswith(_BACKWARD):
        direction, module = "backward", module.removeprefix(_BACKWARD)
    if module == _OPTIMIZER or module.startswith(_OPTIMIZER + "."):
        direction, module = "optimizer", module.removeprefix(_OPTIMIZER).removeprefix(".")
    return direction, module.split(".") if module else []


def _add(node: ModuleNode, direction: str, row: Collective) -> None:
    sent = node.sent.setdefault(direction, {}).setdefault(row.kind, Sent())
    sent.count += row.count
    sent.payload_bytes += row.count * row.payload_bytes


def _joined(name: str, node: ModuleNode) -> tuple[str, ModuleNode]:
    while not node.own and len(node.children) == 1:
        below, node = next(iter(node.children.items()))
        name = f"{name}.{below}"
    node.children = dict(_joined(below, child) for below, child in node.children.items())
    return name, node
