"""Collectives that torch's DTensor makes of models under the plans of bench/models, on a
process group that sends nothing.

    PYTHON dtensor.py < rows.json

PYTHON has torch; rows.py says what rows and answers are.
"""

import collections
import re

import rows
import least
import plans
import torch
import torch_models
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import (
    DTensor, Partial, Replicate, Shard, distribute_tensor)
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, PrepareModuleOutput, RowwiseParallel,
    SequenceParallel, loss_parallel, parallelize_module)
from torch.nn import functional
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode

STYLES = {"colwise": ColwiseParallel, "rowwise": RowwiseParallel,
          "sequence_parallel": SequenceParallel,
          "prepare_module_input": PrepareModuleInput,
          "prepare_module_output": PrepareModuleOutput}
# Kind, and whether the result is the larger side.
KINDS = {"all_reduce": ("all_reduce", True), "all_gather_into_tensor": ("all_gather", True),
         "reduce_scatter_tensor": ("reduce_scatter", False),
         "all_to_all_single": ("all_to_all", True)}


class Counter(TorchDispatchMode):
    """Functional collectives as they are dispatched."""

    def __init__(self, ranks):
        super().__init__()
        self.ranks, self.counts, self.bytes = ranks, collections.Counter(), 0.0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        # What it is made of comes here again.
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented
        result = function(*args, **(kwargs or {}))
        if function.namespace == "_c10d_functional":
            name = function._opname.removesuffix("_").removesuffix("_coalesced")
            if name in KINDS:
                kind, isResult = KINDS[name]
                tensor = result if isResult else args[0]
                self.counts[kind] += 1
                self.bytes += least.ring(kind, tensor.numel() * tensor.element_size(),
                                         self.ranks)
            elif name not in ("wait_tensor",):
                raise ValueError(f"a collective of another kind: {name}")
        return result


def placement(text):
    """A layout of a plan; "none" is what a module's result is, a sum over the ranks."""
    if text == "none":
        return Partial()
    return Replicate() if text == "replicate" else Shard(int(re.search(r"-?\d+", text)[0]))


def style_of(name, options):
    """A style and options of bench/models as torch's object."""
    given = {}
    for key, layouts in re.findall(r"(\w+) = \[(.*?)\]", options):
        layouts = tuple(placement(text.strip()) for text in layouts.split(","))
        isModule = name.startswith("prepare")
        given[key] = layouts if isModule else layouts[0]
    return STYLES[name](**given)


# Tables that plans do not name; where a rank has some rows of the activations, it has the
# same of what is looked up in them, and their gradients are sums over the ranks.
TABLES = {"GPT2": ["transformer.wpe"],
          "Bert": ["bert.embeddings.position_embeddings",
                   "bert.embeddings.token_type_embeddings"]}
HEADS = ("output", "lm_head", "cls.predictions.decoder")


def styles_of(model, plan, ranks):
    """(pattern, style) of modules, in the order in which they are put on them."""
    isOfRows = plan == "sequence-parallel"
    for pattern, name, options in getattr(model, plan.replace("-", "_"))():
        if name == plans.PARAMETER:
            continue
        style = style_of(name, options)
        # Logits stay split by classes, for a loss that takes them so; keys and values of
        # which a rank has less than a head are brought together by the model.
        if pattern in HEADS or (model.sizes.kv_heads % ranks and
                                pattern.endswith(("attention.wk", "attention.wv"))):
            style.use_local_output = False
        # Residuals are what norms give.
        if type(model).__name__ == "Bert" and name == "sequence_parallel":
            style.use_local_output = True
        yield pattern, style
    if type(model).__name__ == "Bert":
        # Its bias is all that a plan of bench/models has to name.
        yield "cls.predictions.decoder", ColwiseParallel(
            input_layouts=Shard(1) if isOfRows else Replicate(), use_local_output=False)
    for name in TABLES.get(type(model).__name__, ()) if isOfRows else ():
        yield name, PrepareModuleInput(input_layouts=(Replicate(),),
                                       desired_input_layouts=(Shard(1),))
        yield name, SequenceParallel(use_local_output=True)


def parallelized(model, made, plan, mesh):
    """made: what torch_models makes of the model."""
    for pattern, style in styles_of(model, plan, mesh.size()):
        parallelize_module(made, mesh, {pattern: style})
    split = [(pattern, Shard(int(dim))) for pattern, name, dim
             in getattr(model, plan.replace("-", "_"))() if name == plans.PARAMETER]
    for name, parameter in list(made.named_parameters()):
        for pattern, shard in split:
            if plans.matches(pattern, name):
                module, _, kind = name.rpartition(".")
                made.get_submodule(module).register_parameter(kind, nn.Parameter(
                    distribute_tensor(parameter, mesh, [shard], src_data_rank=None)))
    for part in made.modules() if plan == "sequence-parallel" else ():
        if isinstance(part, torch_models.LinearOfRows):
            part.mesh = mesh
    if hasattr(made, "tie"):
        made.tie()
    return made


def loss_of(made, inputs, labels, mesh):
    logits = made(*inputs).flatten(0, 1)
    labels = distribute_tensor(labels.flatten(), mesh, [Replicate()], src_data_rank=None)
    return functional.cross_entropy(logits, labels)


def train(made, inputs, mesh):
    optimizer = torch.optim.AdamW(made.parameters(), foreach=False)
    with loss_parallel():
        loss_of(made, inputs, inputs[0], mesh).backward()
    optimizer.step()


def measure(model, program, plan, axes):
    if len(axes) > 1:
        raise ValueError("not measured: what reduces over dp is no part of DTensor")
    (axis, ranks), = axes.items()
    dist.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
    try:
        mesh = dist.device_mesh.init_device_mesh("cpu", (ranks,), mesh_dim_names=(axis,))
        made = parallelized(model, torch_models.made(model), plan, mesh)
        inputs = [torch.zeros(shape, dtype=torch.long) for _, shape in model.inputs()]
        with Counter(ranks) as counter:
            if program == "forward":
                with torch.no_grad():
                    made(*inputs)
            else:
                train(made, inputs, mesh)
    finally:
        dist.destroy_process_group()
    # Every op has one tensor.
    return counter.counts, counter.counts, counter.bytes


if __name__ == "__main__":
    rows.answer(measure, torch.__version__)
