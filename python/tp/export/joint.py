"""The loss of a module and the gradients of its parameters, as one graph."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx.traceback import preserve_node_meta
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..errors import ExportError, source_line
from .checkpoints import Checkpoints
from .decompositions import decomposition_table, gradients
from .experts import differentiated
from .gradients.assignments import assignments_kept
from .gradients.autocast import inline_autocast
from .gradients.grad_modes import change_copies, inline_grad_modes
from .gradients.own_code import refused
from .input_names import step_input_names
from .marks import Marks
from .raises import assert_what_raises
from .refusals import in_module, inside, module_path, refuse_trace, refuse_untrained, trace_error
from .trace import quiet, transformers_options, unchanged

# Where the step keeps the module and the loss, which the step itself calls.
_MODULE, _LOSS = "module", "loss"
_NO_GRADIENT = "the loss depends on no parameter that requires a gradient"


class Step(torch.nn.Module):
    """A module and its loss, called with the module's inputs and the target."""

    def __init__(self, module: torch.nn.Module, loss: Callable[..., Any]) -> None:
        super().__init__()
        self.module = module
        self.loss = loss
        self.training = module.training

    def forward(self, args: tuple[Any, ...], kwargs: dict[str, Any], target: Any) -> Any:
        """The loss."""
        return self.loss(self.module(*args, **kwargs), target)


@dataclass
class Joint:
    """A traced step.

    Attributes:
        program: the exported forward pass, for its signature and its values.
        graph: forward and backward. Its placeholders are those of the program.
        placeholders: in the order of the program's input specs.
        seed: the gradient of the loss with respect to itself, a constant of 1.
        marks: of the module's calls in the forward pass; to be detached first and taken last.
        recomputed: the modules that the step computes again.
    """
    program: ExportedProgram
    graph: torch.fx.Graph
    placeholders: list[torch.fx.Node]
    seed: torch.fx.Node
    marks: Marks
    recomputed: list[str]
    # Positions in the graph's output, of which rewrites of the graph change the nodes.
    _loss: int
    _gradients: dict[int, int]
    _updates: dict[int, int]

    @property
    def loss(self) -> torch.fx.Node:
        """The loss's node."""
        return self._outputs({0: self._loss})[0]

    @property
    def gradients(self) -> dict[int, torch.fx.Node]:
        """From a parameter's position among the specs to its gradient's node."""
        return self._outputs(self._gradients)

    @property
    def updates(self) -> dict[int, torch.fx.Node]:
        """From the position of a parameter, buffer or input that the forward pass changes to the
        node of its next value."""
        return self._outputs(self._updates)

    def _outputs(self, positions: Mapping[int, int]) -> dict[int, torch.fx.Node]:
        outputs = self.graph.output_node().args[0]
        return {i: outputs[position] for i, position in positions.items()}


def trace_step(step: Step, args: tuple[Any, ...], kwargs: Mapping[str, Any], target: Any) -> Joint:
    """Traces the step. Raises ExportError where it cannot be traced or has no gradient."""
    table = {**decomposition_table(), **gradients.DECOMPOSITIONS}
    marks, checkpoints = Marks(step.module), Checkpoints(step.module)
    with ExitStack() as stack:
        stack.enter_context(torch.enable_grad())
        stack.enter_context(differentiated())
        # The fused kernels of attention and of recurrent layers have no form in linalg.
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        stack.enter_context(torch.backends.mkldnn.flags(enabled=False))
        stack.enter_context(transformers_options(step, kwargs))
        stack.enter_context(unchanged(step))
        stack.enter_context(quiet())
        try:
            with marks.recording(), checkpoints.recording(), assignments_kept(step), refused():
                program = torch.export.export(step, (args, dict(kwargs), target), strict=False)
            inline_grad_modes(program.graph_module, differentiated=True)
            inline_autocast(program.graph_module)
            # No gradient flows through what a mark returns.
            marks.detach(program.graph)
            program.graph_module.recompile()
            refuse_trace(program)
            refuse_untrained(program)
            assert_what_raises(program, step_input_names(program, step.module))
            values = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"]
            _check_loss(program)
            change_copies(program.graph, _changeable(program))
            program.graph_module.recompile()
            stack.enter_context(preserve_node_meta())
            joint = aot_export_joint_with_descriptors(
                stack, program.graph_module, tuple(values), decompositions=table)
        except Exception as error:
            raise _in_module(step, trace_error(step, error), error) from error
    return _read(program, joint.graph_module.graph, marks, checkpoints.modules())


def _in_module(step: Step, error: ExportError, cause: Exception) -> ExportError:
    """The error with the module's own names in place of the step's. The step itself calls the module
    and the loss alone, so what is its own is the loss's."""
    text = str(error)
    if error.module in ("", _LOSS):
        text = text.replace(in_module(error.module), "in the loss")
        line = source_line(inside(step, cause.__traceback__), torch)
        return ExportError(text if text.startswith(line) else line + text, op=error.op)
    text = text.replace(f"in module '{_MODULE}'", "in the module itself")
    return ExportError(text.replace(f"in module '{_MODULE}.", "in module '"),
                       module=None if error.module is None else own_name(error.module), op=error.op)


def _check_loss(program: ExportedProgram) -> None:
    outputs = program.graph_signature.user_outputs
    nodes = {node.name: node for node in program.graph.nodes}
    value = nodes[outputs[0]].meta["val"] if len(outputs) == 1 and outputs[0] in nodes else None
    if not isinstance(value, torch.Tensor):
        raise ExportError(f"loss: expected one tensor of one element, got {len(outputs)} values: "
                          "return the loss alone")
    if value.numel() != 1 or not value.is_floating_point():
        raise ExportError("loss: expected a tensor of one element, got "
                          f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}: write "
                          "loss.mean()")


def _changeable(program: ExportedProgram) -> list[torch.fx.Node]:
    """Placeholders of tensors that the forward pass may change in place."""
    placeholders = program.graph.find_nodes(op="placeholder")
    changes = any(isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable
                  for node in program.graph.nodes)
    return [node for node, spec in zip(placeholders, program.graph_signature.input_specs)
            if node.users and isinstance(node.meta["val"], torch.Tensor)
            and (changes or spec.kind == InputKind.BUFFER)]


def _read(program: ExportedProgram, graph: torch.fx.Graph, marks: Marks,
          recomputed: list[str]) -> Joint:
    """What the inputs and outputs of the joint graph are, by torch's descriptions of them."""
    placeholders: dict[int, torch.fx.Node] = {}
    seed: torch.fx.Node | None = None
    last = list(graph.find_nodes(op="placeholder"))[-1]
    for node in list(graph.nodes):
        if node.op != "placeholder":
            continue
        description = node.meta["desc"]
        if hasattr(description, "idx"):
            placeholders[description.idx] = node
            continue
        # The gradient of the loss with respect to itself. A changed parameter's next value has none.
        value, is_loss = node.meta["val"], type(description.output).__name__ == "PlainAOTOutput"
        with graph.inserting_after(last):
            full = graph.call_function(
                torch.ops.aten.full.default, (list(value.shape), float(is_loss)),
                {"dtype": value.dtype})
        full.meta = {"val": value, "tp_path": "bwd:<loss>"}
        node.replace_all_uses_with(full)
        graph.erase_node(node)
        seed = full if is_loss else seed
    if seed is None:
        raise ExportError(_NO_GRADIENT)
    output, loss = graph.output_node(), 0
    gradients: dict[int, int] = {}
    updates: dict[int, int] = {}
    specs = program.graph_signature.input_specs
    for position, (node, description) in enumerate(zip(output.args[0], output.meta["desc"])):
        if node is None or description is None:
            continue
        kind = type(description).__name__
        if kind == "GradAOTOutput":
            if specs[description.grad_of.idx].kind == InputKind.PARAMETER:
                gradients[description.grad_of.idx] = position
        elif kind == "InputMutationAOTOutput":
            updates[description.mutated_input.idx] = position
        else:
            assert kind == "PlainAOTOutput", kind
            loss = position
    if not gradients:
        raise ExportError(_NO_GRADIENT)
    return Joint(program, graph, [placeholders[i] for i in range(len(placeholders))], seed, marks,
                 recomputed, loss, gradients, updates)


def own_name(path: str) -> str:
    """The name in the module of a name in the step."""
    return path.removeprefix(_MODULE + ".")


def step_path(node: torch.fx.Node) -> str:
    """Where a node of a training step is: the module's path; `bwd:PATH` in the backward pass;
    `<loss>`; `<optim>.PARAMETER`."""
    if "tp_path" in node.meta:
        return str(node.meta["tp_path"])
    behind = node.meta.get("fwd_nn_module_stack")
    path = module_path(node, behind) if behind else module_path(node)
    if path == _MODULE:
        path = ""
    elif path.startswith(_MODULE + "."):
        path = own_name(path)
    elif behind or node.meta.get("nn_module_stack"):
        path = "<loss>"
    is_backward = behind or node.meta.get("partitioner_tag") == "is_backward"
    return f"bwd:{path}" if is_backward else path
