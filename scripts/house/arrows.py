"""Rule `arrow`: who includes and links whom.

A room is a folder of the compiler (include/tp/X with lib/X), of the runtime, or of a tool. ARROWS
has, for each room, the rooms that it may see; the order of the rows is the order of the rooms, and
a row sees only rows above it, so there is no cycle. What a room includes and what its library links
is held against the table. Tests may see everything, and nothing else may see them.
"""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from posixpath import basename, dirname, join, normpath, splitext

from house.tree import Tree, Violation, line_of

ARROWS: dict[str, tuple[str, ...]] = {
    # The runtime.
    "runtime/io": (),
    "runtime/format": ("runtime/io",),
    "runtime/arrays": ("runtime/format", "runtime/io"),
    "runtime/transport": ("runtime/format", "runtime/io"),
    "runtime/linked": ("runtime/io",),
    "runtime/core": ("runtime/transport", "runtime/arrays", "runtime/format", "runtime/io"),
    "runtime/cuda": ("runtime/core", "runtime/transport", "runtime/arrays", "runtime/linked",
                     "runtime/format", "runtime/io"),
    "runtime/ranks": ("runtime/cuda", "runtime/core"),
    "runtime/launch": ("runtime/ranks", "runtime/core", "runtime/transport", "runtime/format",
                       "runtime/io"),
    "runtime/abi": ("runtime/ranks", "runtime/core", "runtime/linked", "runtime/transport",
                    "runtime/arrays", "runtime/format"),
    # The compiler.
    "Files": ("runtime/io",),
    "Solver": (),
    "Sharding": ("Solver", "Files"),
    "IR": ("Sharding", "Files", "runtime/linked"),
    "Interfaces": ("IR", "Sharding"),
    "Interpreter": ("IR", "Sharding", "runtime/linked"),
    "Simulate": ("Interpreter", "IR", "Sharding", "Files"),
    "Transforms/Import": ("IR", "Sharding"),
    "Transforms/Legalize": ("IR",),
    "Transforms/Layers": ("IR",),
    "Transforms/Plan": ("Interfaces", "IR", "Files"),
    "Transforms/Normalize": ("Interfaces", "IR"),
    "Transforms/Propagate": ("Interfaces", "IR", "Sharding"),
    "Transforms/Redistribute": ("Interfaces", "IR", "Sharding"),
    "Transforms/Partition": ("Transforms/Redistribute", "Interfaces", "IR", "Sharding"),
    "Transforms/Export": ("IR", "Sharding"),
    "Codegen": ("IR", "Sharding", "runtime/format"),
    "Codegen/CPU": ("Codegen", "IR", "Files", "runtime/linked", "runtime/format"),
    "Codegen/CUDA": ("Codegen/CPU", "Codegen", "Files", "runtime/format"),
    "Pipelines": ("Codegen/CUDA", "Codegen/CPU", "Codegen", "Transforms/Export",
                  "Transforms/Partition", "Transforms/Redistribute", "Transforms/Propagate",
                  "Transforms/Normalize", "Transforms/Plan", "Transforms/Layers",
                  "Transforms/Legalize", "Transforms/Import", "Simulate", "Interfaces", "IR",
                  "Sharding", "Files", "runtime/format"),
    # The tools. tp-opt has the passes of test/lib where tests are built.
    "test": (),
    "tools/tp-compile": ("Pipelines", "Files", "runtime/linked"),
    "tools/tp-lsp-server": ("Pipelines",),
    "tools/tp-opt": ("Pipelines", "Files", "runtime/linked", "test"),
    "tools/tp-plugin": ("Pipelines",),
    "tools/tp-reduce": ("Pipelines", "IR", "Files"),
    "tools/tp-run": ("runtime/launch", "runtime/core", "runtime/linked", "runtime/transport",
                     "runtime/arrays", "runtime/format", "runtime/io"),
}
# Public headers of the runtime are in one folder. They are of the room that has the source file of
# their name; these have none.
HEADERS_ALONE = {"CommandTimes": "runtime/core", "Commands": "runtime/format",
                 "CustomOp": "runtime/linked",
                 "Kernel": "runtime/format",
                 "OutputFile": "runtime/io", "Processor": "runtime/format",
                 "Runtime": "runtime/abi", "Status": "runtime/io",
                 "Transport": "runtime/transport"}
# What rooms must not see, by how the names of headers and libraries begin, and why.
FOREIGN = (
    (("runtime/", "tools/tp-run"), ("llvm", "mlir", "clang"), "a host that runs artifacts has no "
     "LLVM; write it in C++, or move it to the compiler"),
    (("Files", "Solver", "Sharding"), ("mlir",), "no IR here; take numbers, or move it up"),
)

TABLE = "scripts/house/arrows.py"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.M)
COMMAND = re.compile(r"\b(\w+)\s*\(([^()]*)\)")
DEFINES = {"tp_add_library", "tp_add_runtime_library", "add_library", "add_executable", "add_llvm_executable"}
LINKS = {"target_link_libraries", "mlir_target_link_libraries"}
KEYWORDS = {"PUBLIC", "PRIVATE", "INTERFACE", "STATIC", "SHARED", "OBJECT", "MODULE"}
CODE = (".h", ".cpp", ".c", ".td")


def room_of(tree: Tree, path: str) -> str | None:
    """The longest room that the file is in, or nothing."""
    parts = path.split("/")
    if path.startswith("runtime/include/"):
        stem = splitext(parts[-1])[0]
        same = (name for name in tree.under("runtime", ends=(f"/{stem}.cpp",)))
        return next((room_of(tree, name) for name in same), HEADERS_ALONE.get(stem))
    if parts[:2] == ["include", "tp"]:
        parts = parts[2:]
    elif parts[0] == "lib":
        parts = parts[1:]
    rooms = ("/".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
    return next((room for room in rooms if room in ARROWS), None)


def resolve(tree: Tree, by_name: dict[str, list[str]], path: str, included: str) -> str | None:
    """The file of the tree that an include names: one beside it, else the one whose path ends
    so."""
    beside = normpath(join(dirname(path), included))
    candidates = by_name.get(basename(included), [])
    if beside in candidates:
        return beside
    return next((name for name in candidates if name.endswith("/" + included)), None)


def foreign(room: str, name: str) -> str | None:
    """Why the room must not see the header or library, if it must not."""
    return next((why for rooms, names, why in FOREIGN
                 if room.startswith(rooms) and name.lower().startswith(names)), None)


def includes(tree: Tree) -> Iterator[Violation]:
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in tree.under("include", "lib", "runtime", "tools", "test", ends=CODE):
        by_name[basename(path)].append(path)
    for path in tree.under("include", "lib", "runtime", "tools", ends=CODE):
        room = room_of(tree, path)
        text = tree.text(path)
        if room is None:
            yield Violation("arrow", path, 1, "room", "a file in no room", "a folder that ARROWS of "
                            "scripts/house/arrows.py lists", "move it, or add its room there")
            continue
        for found in INCLUDE.finditer(text):
            target = resolve(tree, by_name, path, found[2])
            line = line_of(text, found.start())
            if target is None:
                if why := foreign(room, found[2]):
                    yield Violation("arrow", path, line, found[2], f"{room} includes {found[2]}",
                                    "nothing of it", why)
            else:
                yield from crossing(path, line, "includes", room, room_of(tree, target), target)


def crossing(path: str, line: int, verb: str, room: str, other: str | None,
             target: str) -> Iterator[Violation]:
    if other is not None and other != room and other not in ARROWS[room]:
        allowed = ", ".join(ARROWS[room]) or "no other room"
        yield Violation("arrow", path, line, f"{room} -> {other}", f"{room} {verb} {target} of "
                        f"{other}", allowed, "move what is needed to a room that it may see")


def links(tree: Tree) -> Iterator[Violation]:
    commands: list[tuple[str, int, str, list[str]]] = []
    for path in tree.under("include", "lib", "runtime", "tools", ends=("CMakeLists.txt",)):
        text = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), tree.text(path))
        for found in COMMAND.finditer(text):
            commands.append((path, line_of(text, found.start()), found[1], found[2].split()))
    rooms: dict[str, set[str]] = {}
    for path, _, command, words in commands:
        if command in DEFINES and words:
            sources = [normpath(join(dirname(path), word)) for word in words[1:]
                       if word.endswith(CODE)]
            found_rooms = {room_of(tree, source) for source in sources} or {room_of(tree, path)}
            if known := {room for room in found_rooms if room}:
                rooms[words[0]] = known
    for path, line, command, words in commands:
        if command in DEFINES and "LINK" in words:
            linked = words[words.index("LINK") + 1:]
        elif command in LINKS:
            linked = [word for word in words[1:] if word not in KEYWORDS]
        else:
            continue
        for room in sorted(rooms.get(words[0], ())):
            for library in linked:
                if library not in rooms:
                    if why := foreign(room, library):
                        yield Violation("arrow", path, line, library, f"{room} links {library}",
                                        "nothing of it", why)
                # A library of several rooms is seen by who sees one of them.
                elif not any(seen == room or seen in ARROWS[room] for seen in rooms[library]):
                    yield from crossing(path, line, "links", room, min(rooms[library]), library)


def arrow(tree: Tree) -> Iterator[Violation]:
    """Rooms include and link only what the table of arrows allows."""
    above: set[str] = set()
    for room, seen in ARROWS.items():
        for other in sorted(set(seen) - above):
            yield Violation("arrow", TABLE, 1, f"{room} -> {other}", f"the row of {room} has {other}",
                            "rows above it alone", "turn the arrow round")
        above.add(room)
    yield from includes(tree)
    yield from links(tree)
