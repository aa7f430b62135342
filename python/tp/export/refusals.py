"""What torch cannot trace and what has no form in linalg, in words of the module's author."""
from __future__ import annotations

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from ..errors import ExportError, is_foreign, source_line

# Ops that keep Python's branches and loops as such.
_DETERMINANT = re.compile(r"aten\._?(linalg_)?(s?log)?det\.")
# Ops whose tensors torch wants to be of one type: how many of the first arguments.
_PRODUCTS = {"linear": 3, "matmul": 2, "mm": 2, "bmm": 2, "mv": 2, "dot": 2, "addmm": 3, "addmv": 3,
             "baddbmm": 3, "bilinear": 4, "conv1d": 3, "conv2d": 3, "conv3d": 3, "convolution": 3,
             "conv_transpose1d": 3, "conv_transpose2d": 3, "conv_transpose3d": 3,
             "scaled_dot_product_attention": 3}
_CONTROL_FLOW = ("cond", "while_loop", "map_impl", "scan", "associative_scan", "switch")


def module_path(node: torch.fx.Node, stack: Mapping[str, Any] | None = None) -> str:
    """The path of the module that the node is in, "" for the root. `stack`: of the calls of modules
    that led to the node, where it is not the node's own."""
    stack = stack or node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    return re.sub(r"@\d+", "", path).removeprefix("L['self'].").removeprefix("_export_root.")


def in_module(path: str | None) -> str:
    """`in module 'layers.0'`, for messages."""
    return f"in module '{path}'" if path else "in the module itself"


def op_name(node: torch.fx.Node) -> str:
    """The op as torch names it: `aten.bernoulli.p`."""
    return str(node.target)


def refuse_trace(program: ExportedProgram) -> None:
    """Raises ExportError where the program has sizes that depend on data or products of two types,
    which torch itself refuses when they run, or pools integers or has determinants, which torch-mlir
    crashes on."""
    constants = {spec.arg.name for spec in program.graph_signature.input_specs
                 if spec.kind == InputKind.CONSTANT_TENSOR}
    for node in program.graph.nodes:
        if str(node.target) in _CONTROL_FLOW:
            raise _control_flow(module_path(node), str(node.target))
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        path, op = module_path(node), op_name(node)
        if node.target._schema.is_mutable and node.args and getattr(
                node.args[0], "name", None) in constants:
            raise ExportError(
                f"{in_module(path)}: {op} changes a tensor that is neither a buffer nor an input, "
                "so its new value would be lost: keep it by register_buffer and use it as "
                "self.NAME, or pass it as an argument (a StaticCache of transformers as "
                "past_key_values)", module=path, op=op)
        _refuse_two_types(node, path, op)
        if (node.target == torch.ops.aten.unfold.default and not _tiles(node)
                and _is_written(node)):
            raise ExportError(
                f"{in_module(path)}: windows of unfold are changed in place, which torch.export "
                "loses where they overlap or leave elements out: change the tensor itself, by its "
                "slices", module=path, op=op)
        if op.startswith("aten.embedding_renorm"):
            raise ExportError(
                f"{in_module(path)}: max_norm of an embedding is not supported: leave it out and "
                "keep the norms of rows in bounds where they are looked up, or between steps "
                "(program.state[name] = ...)", module=path, op=op)
        if "max_pool" in op and not node.args[0].meta["val"].is_floating_point():
            raise ExportError(
                f"{in_module(path)}: {op} of {node.args[0].meta['val'].dtype} has no form in "
                "linalg: write it on floats, x.double()", module=path, op=op)
        if _DETERMINANT.match(op):
            raise ExportError(f"{in_module(path)}: {op} has no form in linalg: write it by simpler "
                              "ops", module=path, op=op)
        if torch.Tag.data_dependent_output in node.target.tags or _has_symbols(node):
            raise data_dependent(path, op, _line_of(node))


def refuse_untrained(program: ExportedProgram) -> None:
    """Raises ExportError where an op whose gradient has no form in linalg gets something that may
    need one."""
    for node in program.graph.nodes:
        path, op = module_path(node), op_name(node)
        if not op.startswith(("aten.embedding.", "aten.embedding_bag.")):
            continue
        table = node.args[0]
        if table.op == "placeholder" and not table.meta["val"].requires_grad:
            continue
        if op.startswith("aten.embedding.") and len(node.args) > 4 and node.args[4]:
            raise ExportError(
                f"{in_module(path)}: the sparse gradient of an embedding is not supported: write "
                "sparse=False", module=path, op=op)
        if op.startswith("aten.embedding_bag."):
            raise ExportError(
                f"{in_module(path)}: the gradient of an EmbeddingBag is not supported: write "
                "torch.nn.Embedding and .sum(1) or .mean(1) behind it", module=path, op=op)


def _refuse_two_types(node: torch.fx.Node, path: str, op: str) -> None:
    """Traces take the wider type, where the module as it stands raises an error. An export under
    autocast converts them."""
    if torch.is_autocast_enabled("cpu"):
        return
    count = _PRODUCTS.get(op.split(".")[1], 0)
    values = [argument.meta.get("val") for argument in node.args[:count]
              if isinstance(argument, torch.fx.Node)]
    types = [value.dtype for value in values if isinstance(value, torch.Tensor)]
    other = next((dtype for dtype in types if dtype != types[0]), None)
    if other is not None:
        raise ExportError(
            f"{_line_of(node)}{in_module(path)}: {op} of {types[0]} and {other}, which PyTorch "
            f"refuses too: write x.to({other}), or convert the module", module=path, op=op)


def refuse_effects(program: ExportedProgram) -> None:
    """Raises ExportError where an op of the decomposed program checks its operands on the side, as
    torch.linalg.inv does."""
    for node in program.graph.nodes:
        if str(node.target) == "with_effects":  # its arguments: a token, the op, and the op's own
            path, op = module_path(node), str(node.args[1])
            raise ExportError(f"{in_module(path)}: {op} has no form in linalg: compute what it "
                              "checks before the call, or write it by simpler ops",
                              module=path, op=op)


def _control_flow(path: str | None, op: str) -> ExportError:
    return ExportError(f"{in_module(path)}: torch.{op} keeps branches or loops in the program: "
                       "write torch.where, or a loop of fixed length", module=path, op=op)


def data_dependent(path: str | None, op: str | None, line: str = "") -> ExportError:
    """The error for control flow or sizes that depend on the values of tensors. `line`: where it
    is in the code, `FILE:LINE: `."""
    return ExportError(
        f"{line}{in_module(path)}: {op or 'the code'} makes a size, a number or a branch depend on the "
        "values of a tensor: write torch.where or a mask of fixed shape instead, or compute the "
        "number before the call", module=path, op=op)


def _line_of(node: torch.fx.Node) -> str:
    """`FILE:LINE: ` of the user's code that the node comes from, or nothing."""
    frames = re.findall(r'File "(.+)", line (\d+)', node.meta.get("stack_trace") or "")
    own = [f"{path}:{line}: " for path, line in frames if not is_foreign(path, torch)]
    return own[-1] if own else ""


def _has_symbols(node: torch.fx.Node) -> bool:
    values = node.meta.get("val")
    values = values if isinstance(values, (list, tuple)) else [values]
    return any(isinstance(value, torch.Tensor) and any(
        not isinstance(size, int) for size in value.shape) for value in values)


def trace_error(module: torch.nn.Module, error: Exception) -> ExportError:
    """What stopped the trace, as an ExportError."""
    # torch adds what it was executing to messages that pass through it.
    text = re.split(r"\n+While executing", str(error))[0]
    path = _module_of_traceback(module, error)
    if isinstance(error, ExportError):
        if error.module is None and path is not None:
            return ExportError(f"{in_module(path)}: {text}", module=path, op=error.op)
        return ExportError(text, module=error.module, op=error.op)
    kind = type(error).__name__
    if _averages_all(module, path):
        return ExportError(
            f"{in_module(path)}: momentum=None, a mean of the statistics of all calls, is not "
            "supported: give momentum a number, such as 0.1", module=path)
    if "GuardOnDataDependent" in kind or "data-dependent" in text or (
            "Unbacked" in kind or "_local_scalar_dense" in text or "unbacked" in text):
        op = re.search(r"aten\.[a-z_]+\.[A-Za-z_]+", text)
        line = source_line(inside(module, error.__traceback__), torch)
        return data_dependent(path, op.group(0) if op else None, line)
    if "fake tensor in the exported program constant" in text:
        return ExportError(
            f"{in_module(path)}: it takes the .data of a tensor or calls torch.autograd.grad or "
            "backward(), which a trace does not follow: write x.detach() in place of x.data, "
            "`with torch.no_grad():` around what changes a parameter, and a derivative as tensor "
            "operations", module=path)
    operator = re.search(r"Higher Order Operator: torch\.(\w+)", text)
    if operator and operator.group(1) in _CONTROL_FLOW:
        return _control_flow(path, operator.group(1))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = " ".join(lines[:2] if lines and lines[0].endswith(":") else lines[:1]) or kind
    if isinstance(error, KeyError):  # its text is the key alone
        first = f"{kind}: {first}"
    return ExportError(f"{in_module(path)}: torch.export cannot trace it: {first.rstrip('.')}",
                       module=path)


def _averages_all(module: torch.nn.Module, path: str | None) -> bool:
    """Whether the path names a norm whose statistics are means over all calls."""
    part = dict(module.named_modules()).get(path) if path is not None else None
    return (isinstance(part, torch.nn.modules.batchnorm._NormBase) and part.momentum is None
            and part.training and part.track_running_stats)


def _module_of_traceback(module: torch.nn.Module, error: BaseException) -> str | None:
    """The innermost module whose code, or a node of it that is taken apart, is in the error's
    traceback."""
    names = {id(part): name for name, part in module.named_modules()}
    path: str | None = None
    trace = error.__traceback__
    while trace is not None:
        self = trace.tb_frame.f_locals.get("self")
        node = trace.tb_frame.f_locals.get("n")
        if id(self) in names:
            path = names[id(self)]
        elif isinstance(node, torch.fx.Node) and "nn_module_stack" in node.meta:
            path = module_path(node)
        trace = trace.tb_next
    return path


def inside(module: torch.nn.Module, trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that starts in the first call of the module or of one in it."""
    parts = {id(part) for part in module.modules()}
    while trace is not None and id(trace.tb_frame.f_locals.get("self")) not in parts:
        trace = trace.tb_next
    return trace


def _tiles(unfold: torch.fx.Node) -> bool:
    """Whether each element is in one window."""
    tensor, dim, size, step = unfold.args
    shape = tensor.meta["val"].shape or (1,)
    return bool(size == step and shape[dim] % size == 0)


def _is_written(view: torch.fx.Node) -> bool:
    """Whether an op changes a view, or a view of it, in place."""
    for user in view.users:
        if not isinstance(user.target, torch._ops.OpOverload):
            continue
        schema = user.target._schema
        if schema.is_mutable and user.args and user.args[0] is view:
            return True
        makes_view = any(result.alias_info is not None for result in schema.returns)
        if makes_view and not schema.is_mutable and _is_written(user):
            return True
    return False
