"""Assertions where torch raises an error for the values of a tensor: places that are read, and
divisors of integers.

torch-mlir leaves most of them out. Those it writes are in the op that reads, which computes only
what the program uses of it.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from ..errors import ExportError
from .decompositions.assertions import CHECKED_CLASSES, CHECKED_DIVISOR, CHECKED_PLACES
from .refusals import in_module, module_path
from .rewrites import IDENTITIES

aten = torch.ops.aten

# The divisor is their second argument.
_DIVISIONS = (aten.floor_divide.default, aten.floor_divide_.Tensor, aten.div.Tensor_mode,
              aten.div_.Tensor_mode, aten.remainder.Tensor, aten.remainder_.Tensor,
              aten.remainder.Scalar_Tensor, aten.fmod.Tensor, aten.fmod_.Tensor)


class _Read(NamedTuple):
    """An index of an op: its argument, its position there if that is a list, and its bounds."""
    argument: int
    position: int | None
    low: int
    high: int
    name: str


# The losses of classes: their scores, the classes; of the weight and the reduction nothing; and the
# class that is ignored.
_LOSSES = {aten.cross_entropy_loss.default: "cross_entropy", aten.nll_loss.default: "nll_loss",
           aten.nll_loss_nd.default: "nll_loss", aten.nll_loss2d.default: "nll_loss"}


def assert_what_raises(program: ExportedProgram, input_names: Sequence[str]) -> None:
    """Puts an op of tp's own in front of every index that the program computes or is given, and of
    every divisor. `input_names`: of every leaf of the call's arguments, which messages name.

    The graph is one of torch.export, before decompositions: those read where they know that they
    may. Raises ExportError where a constant of the module's code is outside.
    """
    constants = {spec.arg.name: program.constants[spec.target]
                 for spec in program.graph_signature.input_specs
                 if spec.kind == InputKind.CONSTANT_TENSOR and spec.target in program.constants}
    inputs = dict(zip((spec.arg.name for spec in program.graph_signature.input_specs
                       if spec.kind == InputKind.USER_INPUT), input_names))
    for node in list(program.graph.nodes):
        if node.op != "call_function":
            continue
        if node.target in _DIVISIONS:
            _check_divisor(program.graph, node)
        if node.target in _LOSSES:
            _check_classes(program.graph, node, inputs)
        for read in _reads_of(node):
            index = node.args[read.argument]
            if read.position is not None:
                index = index[read.position]
            if not isinstance(index, torch.fx.Node):
                continue
            known = _range_of(index, constants)
            if known is None:
                _insert(program.graph, node, read, index, _input_behind(index, inputs))
            elif known[0] < read.low or known[1] > read.high:
                path = module_path(node)
                raise ExportError(
                    f"{in_module(path)}: {read.name}: expected places from {read.low} to "
                    f"{read.high}, got {known[0]} to {known[1]}", module=path,
                    op=f"aten.{read.name}")
    program.graph_module.recompile()


def _reads_of(node: torch.fx.Node) -> Iterator[_Read]:
    if node.target is aten.index.Tensor:
        sizes = node.args[0].meta["val"].shape
        dim = 0
        for i, index in enumerate(node.args[1]):
            value = None if index is None else index.meta["val"]
            if value is not None and value.dtype in (torch.bool, torch.uint8):
                dim += value.dim()
                continue
            if value is not None:
                yield _Read(1, i, -sizes[dim], sizes[dim] - 1, "index")
            dim += 1
    elif node.target in (aten.index_select.default, aten.gather.default):
        shape = node.args[0].meta["val"].shape
        size = shape[node.args[1]] if shape else 1
        yield _Read(2, None, 0, size - 1, _name(node))
    elif node.target is aten.embedding.default:
        yield _Read(1, None, 0, node.args[0].meta["val"].shape[0] - 1, "embedding")
    elif node.target is aten.take.default:
        size = node.args[0].meta["val"].numel()
        yield _Read(1, None, -size, size - 1, "take")
    elif node.target is aten.one_hot.default and len(node.args) > 1:
        yield _Read(0, None, 0, node.args[1] - 1, "one_hot")


def _name(node: torch.fx.Node) -> str:
    """As users write it: no namespace, no overload, no mark of an op in place."""
    name: str = node.target.name()
    return name.removeprefix("aten::").partition(".")[0].removesuffix("_")


def _range_of(index: torch.fx.Node, constants: dict[str, Any]) -> tuple[int, int] | None:
    """The least and the greatest place, where the code of the module says them."""
    while index.target in IDENTITIES and not _is_written(index):
        index = index.args[0]
    if _is_written(index):
        return None
    if index.op == "placeholder" and index.name in constants:
        value = constants[index.name]
        if value.numel() == 0 or value.dtype == torch.bool:
            return None
        return int(value.min()), int(value.max())
    if index.target in (aten.arange.default, aten.arange.start):
        bounds = (0, index.args[0]) if index.target is aten.arange.default else index.args
        if all(isinstance(bound, int) for bound in bounds) and bounds[0] < bounds[1]:
            return bounds[0], bounds[1] - 1
    return None


def _is_written(node: torch.fx.Node) -> bool:
    """Whether an op writes into the tensor: this graph is not functional yet."""
    return any(isinstance(user.target, torch._ops.OpOverload) and user.target._schema.is_mutable
               and user.target not in IDENTITIES for user in node.users)


def _input_behind(index: torch.fx.Node, inputs: Mapping[str, str]) -> str | None:
    """The input that places are computed from, if it is one alone."""
    found: set[str] = set()
    work, seen = [index], {index}
    while work:
        node = work.pop()
        if node.op == "placeholder":
            found.add(node.name)
        for source in node.all_input_nodes:
            if source not in seen:
                seen.add(source)
                work.append(source)
    return inputs.get(found.pop()) if len(found) == 1 else None


def _insert(graph: torch.fx.Graph, node: torch.fx.Node, read: _Read, index: torch.fx.Node,
            source: str | None) -> None:
    op = _of_input(read.name, source)
    with graph.inserting_before(node):
        checked = graph.call_function(CHECKED_PLACES, (index, read.low, read.high, op))
    checked.meta = dict(node.meta)
    checked.meta["val"] = index.meta["val"]
    given: Any = checked
    if read.position is not None:
        given = list(node.args[read.argument])
        given[read.position] = checked
    node.args = tuple(given if i == read.argument else argument
                      for i, argument in enumerate(node.args))


def _check_classes(graph: torch.fx.Graph, node: torch.fx.Node, inputs: Mapping[str, str]) -> None:
    scores, classes = node.args[:2]
    if classes.meta["val"].is_floating_point():
        return
    shape = scores.meta["val"].shape
    ignored = node.args[4] if len(node.args) > 4 else -100
    op = _of_input(_LOSSES[node.target], _input_behind(classes, inputs))
    with graph.inserting_before(node):
        checked = graph.call_function(
            CHECKED_CLASSES, (classes, shape[1 if len(shape) > 1 else 0], ignored, op))
    checked.meta = dict(node.meta)
    checked.meta["val"] = classes.meta["val"]
    node.args = (scores, checked, *node.args[2:])


def _of_input(op: str, source: str | None) -> str:
    return op if source is None else f"{op} of input '{source}'"


def _check_divisor(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    dividend, divisor = node.args[:2]
    dtype = node.meta["val"].dtype
    if not isinstance(divisor, torch.fx.Node) or dtype.is_floating_point or dtype.is_complex:
        return
    with graph.inserting_before(node):
        checked = graph.call_function(CHECKED_DIVISOR, (divisor, _name(node)))
    checked.meta = dict(node.meta)
    checked.meta["val"] = divisor.meta["val"]
    node.args = (dividend, checked, *node.args[2:])
