"""The state of a program's random numbers: a seed, and the steps that have been run.

    program.state["rng_state"] = [seed, step]

Every step draws other numbers, because it ends by adding one to the second number.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from ..errors import ExportError
from ..model import Port
from .decompositions import random  # noqa: F401 (tp's random ops)
from .refusals import in_module, module_path, op_name

_NAME = "rng_state"
# With a state and a number of the op they are these, of `_of` behind their names.
_OPS = {getattr(torch.ops.tp, name).default: getattr(torch.ops.tp, f"{name}_of").default
        for name in ("random_uniform", "random_normal", "random_keep", "random_integers")}


@dataclass
class RandomState:
    """The state as a part of a program.

    Attributes:
        argument, result: its ports.
        old, new: their nodes.
        value: the first value.
    """
    argument: Port
    result: Port
    old: torch.fx.Node
    new: torch.fx.Node
    value: torch.Tensor


def give_state(graph: torch.fx.Graph, names: Iterable[str],
               path_of: Callable[[torch.fx.Node], str] = module_path) -> RandomState | None:
    """Makes the graph's random ops functions of a state, which is a new placeholder, and adds the
    state's next value. None if it has none. The seed is that of torch.manual_seed.

    Args:
        names: of the program's arguments.
        path_of: the module that a node is located in, as in `lower`.
    """
    found = [node for node in graph.nodes if node.target in _OPS]
    for node in graph.nodes:
        _refuse(node, path_of)
    if not found:
        return None
    name = _NAME
    while name in set(names):
        name += "_"
    placeholders = list(graph.find_nodes(op="placeholder"))
    before = placeholders[-1] if placeholders else graph._root
    value = torch.tensor([torch.initial_seed() % 2**63, 0])
    mode = found[0].meta["val"].fake_mode
    with graph.inserting_after(before):
        old = graph.placeholder(name)
    old.meta = {"val": mode.from_tensor(value, static_shapes=True)}
    for number, node in enumerate(found):
        with graph.inserting_before(node):
            drawn = graph.call_function(_OPS[node.target], (old, number, *node.args))
        drawn.meta = dict(node.meta)
        node.replace_all_uses_with(drawn)
        graph.erase_node(node)
    with graph.inserting_before(graph.output_node()):
        new = graph.call_function(torch.ops.tp.random_next.default, (old,))
    new.meta = {"val": old.meta["val"], "tp_path": ""}
    port = Port(name, "buffer", (2,), "i64")
    return RandomState(port, Port(name, "new_buffer", (2,), "i64", name), old, new, value)


def _refuse(node: torch.fx.Node, path_of: Callable[[torch.fx.Node], str]) -> None:
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return
    if torch.Tag.nondeterministic_seeded not in node.target.tags:
        return
    path, op = path_of(node), op_name(node)
    if node.target in _OPS:
        return
    if "generator" in node.target._overloadname:
        raise ExportError(f"{in_module(path)}: {op} has a generator of its own: leave generator= "
                          "out; the program's state is the seed", module=path, op=op)
    raise ExportError(f"{in_module(path)}: {op} draws random numbers in a form that tp does not "
                      "have: write it by torch.rand, torch.randn, torch.randint or "
                      "torch.bernoulli", module=path, op=op)


