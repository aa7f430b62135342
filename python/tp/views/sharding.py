"""Pictures of layouts: which rank holds which part of an array."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _runtime
from ..artifact import Artifact, Port, find, read_port
from ..errors import RunError
from ..plans import check_mesh
from ..program import Program


class Sharding:
    """A picture of a layout, which shows itself: as text where it is printed, drawn in a notebook.
    `str()` is the text, `.svg` the drawing."""

    def __init__(self, mesh: Mapping[str, Any], port: Mapping[str, Any]) -> None:
        self._description = json.dumps({"mesh": mesh, "port": port})
        self._text = self._drawn(False)

    def _drawn(self, svg: bool) -> str:
        try:
            return _runtime.draw_sharding(self._description, svg)
        except _runtime.Failure as failure:
            raise RunError(f"visualize_sharding: {failure.args[1]}") from None

    @property
    def svg(self) -> str:
        """The drawing, for a file."""
        return self._drawn(True)

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_svg_(self) -> str:
        return self.svg


def visualize_sharding(what: Any, name: Any = None, *, mesh: Any = None) -> Sharding:
    """Which rank holds which part of an argument or a result, or of an array under a layout.

        print(tp.visualize_sharding(program, "layers.0.up.weight"))
        print(tp.visualize_sharding((8, 6), [tp.Shard(0), tp.Shard(1)], mesh={"dp": 2, "tp": 2}))

    Args:
        what: a program, or a shape (or an array, whose shape counts).
        name: of a program the name of an argument or a result, `NAME` or `KIND:NAME`; of a shape
            its layout: a placement for every axis of the mesh, a dict from axes to placements
            whose other axes replicate, or one placement for the only axis.
        mesh: of a shape: as in tp.compile.

    Raises:
        RunError: there is no such name, or the layout does not fit the shape and the mesh.
    """
    if isinstance(what, Program):
        if mesh is not None:
            raise RunError("visualize_sharding: a program has its own mesh, expected no mesh=")
        if not isinstance(name, str):
            raise RunError("visualize_sharding: expected the name of an argument or a result, got "
                           f"{name!r}; the program has {', '.join(list(what.layouts)[:8])} ...")
        port = port_named(what._artifact, name)
        return Sharding(what._artifact.manifest["mesh"], port_row(port, name))
    return _of_layout(what, name, mesh)


def port_named(artifact: Artifact, name: str) -> Port:
    """The argument of this name, else the result; of a tied weight the one that is read."""
    is_result = any(name in (port.name, f"{port.kind}:{port.name}") for port in artifact.results)
    is_argument = any(name in (port.name, f"{port.kind}:{port.name}", *port.source_keys)
                      for port in artifact.arguments)
    if is_result and not is_argument:
        port = find(artifact.results, name, "result")
    else:
        port = find(artifact.arguments, name, "argument or result")
    port = read_port(port, artifact)
    if port.dead:
        raise RunError(f"'{name}' is read by no command, so no rank holds it")
    return port


def port_row(port: Port, name: str) -> dict[str, Any]:
    """The port as the manifest has it, without what does not matter to its layout."""
    return {"name": name, "shape": list(port.shape), "dtype": port.dtype.name,
            **({"layout": list(port.layout)} if port.layout else {})}


def _of_layout(what: Any, layout: Any, mesh: Any) -> Sharding:
    shape = getattr(what, "shape", what)
    if not isinstance(shape, Sequence) or not all(
            isinstance(size, int) and size >= 0 for size in shape):
        raise RunError("visualize_sharding: expected a program, a shape or an array, got "
                       f"{type(what).__name__}")
    sizes = check_mesh(mesh)
    if not sizes:
        raise RunError("visualize_sharding: expected mesh= for a shape, such as mesh={'tp': 4}")
    placements = _placements(layout, sizes)
    return Sharding({"axes": [{"name": axis, "size": size} for axis, size in sizes.items()]},
                    {"name": "", "shape": list(shape), "dtype": "f32",
                     "layout": [_row(placement, len(shape)) for placement in placements]})


def _placements(layout: Any, mesh: Mapping[str, int]) -> list[Any]:
    if isinstance(layout, Mapping):
        unknown = [axis for axis in layout if axis not in mesh]
        if unknown:
            raise RunError(f"visualize_sharding: the mesh has no axis '{unknown[0]}', it has "
                           f"{', '.join(mesh)}")
        return [layout.get(axis) for axis in mesh]
    placements = list(layout) if isinstance(layout, (list, tuple)) else [layout]
    if len(placements) != len(mesh):
        raise RunError("visualize_sharding: expected a placement for each of the "
                       f"{len(mesh)} axes {', '.join(mesh)}, got {len(placements)}")
    return placements


def _row(placement: Any, rank: int) -> dict[str, Any]:
    """A placement as the manifest has it."""
    kind = type(placement).__name__
    if placement is None or kind == "Replicate":
        return {}
    if kind == "Shard":
        if not -rank <= placement.dim < rank:
            raise RunError(f"visualize_sharding: shard<{placement.dim}> needs that dimension, the "
                           f"array has {rank}")
        return {"shard": placement.dim % rank}
    if kind == "Partial":
        return {"partial": placement.reduce_op}
    raise RunError("visualize_sharding: expected Shard(d), Replicate() or Partial(), got "
                   f"{placement!r}")
