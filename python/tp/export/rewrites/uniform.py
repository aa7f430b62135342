"""Constants whose elements are all equal, computed by torch before torch-mlir sees them: its folders
compare them wrongly, and crash where a number of another type is compared."""
from __future__ import annotations

import torch

aten = torch.ops.aten

# What they make of a uniform tensor is one.
_MOVES = (aten.alias.default, aten.clone.default, aten.expand.default, aten.permute.default,
          aten.reshape.default, aten.select.int, aten.slice.Tensor, aten.squeeze.dim,
          aten.squeeze.dims, aten.transpose.int, aten.unsqueeze.default, aten.view.default)


def _number_of(node: torch.fx.Node) -> complex | None:
    """The number that all elements are, where the op makes a tensor of one."""
    number: object = None
    if node.target in (aten.full.default, aten.full_like.default):
        number = node.args[1]
    elif node.target is aten.scalar_tensor.default:
        number = node.args[0]
    elif node.target in (aten.zeros.default, aten.zeros_like.default):
        number = 0
    elif node.target in (aten.ones.default, aten.ones_like.default):
        number = 1
    return number if isinstance(number, (bool, int, float, complex)) else None


def fold_uniform(graph: torch.fx.Graph) -> None:
    """Replaces ops on elements of uniform tensors by `aten.full` of their result, in place."""
    # Of one element, or of none dimension: so that types are promoted as in the graph.
    known: dict[torch.fx.Node, torch.Tensor] = {}
    for node in list(graph.nodes):
        result = node.meta.get("val")
        if node.op != "call_function" or not isinstance(result, torch.Tensor):
            continue
        shape = (1,) if result.dim() else ()
        number = _number_of(node)
        if number is not None:
            known[node] = torch.full(shape, number, dtype=result.dtype)
            continue
        inputs = node.all_input_nodes
        if not inputs or any(given not in known for given in inputs):
            continue
        if node.target in _MOVES:
            value = known[inputs[0]].reshape(shape)
        elif isinstance(node.target, torch._ops.OpOverload) and (
                torch.Tag.pointwise in node.target.tags
                and torch.Tag.nondeterministic_seeded not in node.target.tags):
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda given: known[given])
            value = node.target(*args, **kwargs)
        else:
            continue
        if not isinstance(value, torch.Tensor) or value.is_complex() or value.shape != shape:
            continue
        with graph.inserting_before(node):
            full = graph.call_function(aten.full.default, (list(result.shape), value.item()),
                                       {"dtype": result.dtype})
        full.meta = dict(node.meta)
        known[full] = value.to(result.dtype)
        node.replace_all_uses_with(full)
        graph.erase_node(node)
