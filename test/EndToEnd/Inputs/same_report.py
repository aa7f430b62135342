"""Fails unless a report as JSON, as text and as a page hold the same data."""
import html
import json
import pathlib
import re
import sys


def cell(value):
    """The text of a value in a table."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, list):
        return "[" + ",".join(map(cell, value)) + "]"
    return str(value)


def sent(module):
    """What a module of the tree sends, and all modules in it."""
    yield from module["sent"]
    for inner in module.get("modules", []):
        yield from sent(inner)


def main(name):
    report = json.loads(pathlib.Path(name + ".json").read_text())
    page = pathlib.Path(name + ".html").read_text()
    text = pathlib.Path(name + ".txt").read_text()
    tables = {}
    for part in page.split("<h2>")[1:]:
        title, _, rows = part.partition("</h2>")
        tables[html.unescape(title)] = [
            [html.unescape(cell) for cell in re.split("<t[hd]>", row)[1:]]
            for row in re.findall("<tr>(.*)\n", rows)]
    words = [line.split() for line in text.splitlines() if line.strip()]
    for title, rows in tables.items():
        assert title.split() in words, f"the text has no table '{title}'"
        for row in rows:
            assert " ".join(row).split() in words, f"the text lacks {row}"
    bindings = []
    for binding in report["bindings"]:
        own = {key: value for key, value in binding.items() if key != "values"}
        bindings += [dict(own, **value) for value in binding["values"]] or [own]
    data = {"bindings": bindings, "layouts": report["layouts"],
            "collectives": [{key: value for key, value in row.items() if key != "cause"}
                            for row in report["collectives"]],
            "memory per rank, in bytes": [report["memory"]],
            "mesh": [dict(axis=axis, size=report["mesh"][axis]) for axis in report["mesh_axes"]],
            "cost of a step by the model, in microseconds": [report["cost"]]}
    if "unnamed" in report:
        data["weights that no plan entry names, whole on every rank"] = report["unnamed"]
    trees = report.get("modules", [])
    names = {"collectives by kind"} | ({"collectives by module"} if trees else set())
    assert set(tables) == {*data, *names}, sorted(tables)
    if trees:
        expected = [cell(row["payload_bytes"]) for tree in trees for row in sent(tree)]
        shown = [text for row in tables["collectives by module"][1:] for text in row[3::2] if text]
        assert sorted(shown) == sorted(expected), (shown, expected)
    for title, rows in data.items():
        shown = tables[title][1:]
        assert len(shown) == len(rows), f"{title}: {len(shown)} rows, expected {len(rows)}"
        for values, cells in zip(rows, shown):
            for key, value in values.items():
                text = key if value is True else cell(value)
                assert text in cells, f"{title}: no {key} {text!r} in {cells}"
    print("one report with", len(report["collectives"]), "collectives and",
          len(report["layouts"]), "layouts")


main(sys.argv[1])
