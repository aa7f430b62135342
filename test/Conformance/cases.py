"""The cases: a small module, a plan in torch's classes, and how inputs and results lie outside."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, PrepareModuleInputOutput, PrepareModuleOutput,
    RowwiseParallel, SequenceParallel)
from torch.nn import functional as F

from modules import (
    BATCH, INNER, TOKENS, WIDTH, WORDS, Attention, Between, Block, Decoder, FeedForward, Gated,
    Layer, Pairs, RMSNorm, Stage, Tied)

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass
class Case:
    """A module and a plan. An input or result without a layout is replicated; one with a layout is
    a rank's part in PyTorch, and an entry of its own in tp's plan. `data`: so many replicas have a
    part of the batch each, on another axis of the mesh. `differs` says why PyTorch does not give the
    module's numbers."""
    style: str
    name: str
    module: nn.Module
    inputs: dict[str, torch.Tensor]
    plan: Any
    ports: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    loss: Loss | None = None
    target: torch.Tensor | None = None
    trains: bool = True
    data: int = 1
    differs: str = ""


CASES: dict[str, Case] = {}


def add(style: str, name: str, module: nn.Module, plan: Any, **more: Any) -> None:
    """A case; the input is float activations unless told otherwise."""
    inputs = more.pop("inputs", None) or {"x": torch.randn(BATCH, TOKENS, WIDTH)}
    title = f"{style}: {name}"
    assert title not in CASES, title
    case = CASES[title] = Case(style, name, module, inputs, plan, **more)
    if case.trains and case.target is None:
        with torch.no_grad():
            case.target = torch.randn_like(module(*inputs.values()))


def words(count: int = WORDS) -> dict[str, torch.Tensor]:
    return {"tokens": torch.randint(count, (BATCH, TOKENS))}


torch.manual_seed(0)
R = Replicate()
IDS = {"x": torch.randint(WORDS, (BATCH, TOKENS))}
COLWISE, ROWWISE = "ColwiseParallel", "RowwiseParallel"


def colwise(**options: Any) -> dict[str, ColwiseParallel]:
    return {"layer": ColwiseParallel(**options)}


def rowwise(**options: Any) -> dict[str, RowwiseParallel]:
    return {"layer": RowwiseParallel(**options)}


# ColwiseParallel
for bias in (True, False):
    add(COLWISE, f"Linear{'' if bias else ' without bias'}",
        Layer(nn.Linear(WIDTH, INNER, bias=bias)), colwise(), result=Shard(-1))
add(COLWISE, "the module itself", nn.Linear(WIDTH, INNER), ColwiseParallel(),
    inputs={"input": torch.randn(BATCH, TOKENS, WIDTH)}, result=Shard(-1))
for dim in (0, 1, 2, -1):
    add(COLWISE, f"input_layouts=Shard({dim})", Layer(nn.Linear(WIDTH, INNER)),
        colwise(input_layouts=Shard(dim)), ports={"x": Shard(dim)}, result=Shard(-1))
add(COLWISE, "output_layouts=Replicate()", Layer(nn.Linear(WIDTH, INNER)),
    colwise(output_layouts=R))
for dim in (0, 1):
    add(COLWISE, f"output_layouts=Shard({dim})", Layer(nn.Linear(WIDTH, INNER)),
        colwise(output_layouts=Shard(dim)), result=Shard(dim))
add(COLWISE, "input_layouts=Shard(1), output_layouts=Shard(1)", Layer(nn.Linear(WIDTH, INNER)),
    colwise(input_layouts=Shard(1), output_layouts=Shard(1)), ports={"x": Shard(1)},
    result=Shard(1))
add(COLWISE, "use_local_output=False", Layer(nn.Linear(WIDTH, INNER)),
    colwise(use_local_output=False), result=Shard(-1))
add(COLWISE, "output_layouts=Replicate() between layers", Between(
    nn.Linear(INNER, 48), INNER, 48), colwise(output_layouts=R))
add(COLWISE, "uneven, output_layouts=Replicate()", Layer(nn.Linear(WIDTH, 18)),
    colwise(output_layouts=R))
add(COLWISE, "Embedding", Layer(nn.Embedding(WORDS, WIDTH)), colwise(), inputs=IDS,
    result=Shard(-1))
add(COLWISE, "Embedding, output_layouts=Replicate()", Layer(nn.Embedding(WORDS, WIDTH)),
    colwise(output_layouts=R), inputs=IDS)
add(COLWISE, "Embedding, output_layouts=Shard(1)", Layer(nn.Embedding(WORDS, WIDTH)),
    colwise(output_layouts=Shard(1)), inputs=IDS, result=Shard(1))
add(COLWISE, "Embedding, input_layouts=Shard(0)", Layer(nn.Embedding(WORDS, WIDTH)),
    colwise(input_layouts=Shard(0)), inputs=IDS, ports={"x": Shard(0)}, result=Shard(-1))

# RowwiseParallel
for bias in (True, False):
    add(ROWWISE, f"Linear{'' if bias else ' without bias'}",
        Layer(nn.Linear(WIDTH, INNER, bias=bias)), rowwise(), ports={"x": Shard(-1)})
add(ROWWISE, "input_layouts=Replicate()", Layer(nn.Linear(WIDTH, INNER)),
    rowwise(input_layouts=R))
for dim in (0, 1):
    add(ROWWISE, f"input_layouts=Shard({dim})", Layer(nn.Linear(WIDTH, INNER)),
        rowwise(input_layouts=Shard(dim)), ports={"x": Shard(dim)})
for dim in (0, 1, 2, -1):
    add(ROWWISE, f"output_layouts=Shard({dim})", Layer(nn.Linear(WIDTH, INNER)),
        rowwise(output_layouts=Shard(dim)), ports={"x": Shard(-1)}, result=Shard(dim))
add(ROWWISE, "use_local_output=False", Layer(nn.Linear(WIDTH, INNER)),
    rowwise(use_local_output=False), ports={"x": Shard(-1)})
add(ROWWISE, "uneven, input_layouts=Replicate()", Layer(nn.Linear(18, INNER)),
    rowwise(input_layouts=R), inputs={"x": torch.randn(BATCH, TOKENS, 18)})
add(ROWWISE, "output_layouts=Shard(1), uneven", Layer(nn.Linear(WIDTH, INNER)),
    rowwise(output_layouts=Shard(1), use_local_output=False),
    inputs={"x": torch.randn(BATCH, 30, WIDTH)}, ports={"x": Shard(-1)}, result=Shard(1))
add(ROWWISE, "Embedding, input_layouts=Replicate()", Layer(nn.Embedding(WORDS, WIDTH)),
    rowwise(input_layouts=R), inputs=IDS)
for dim in (0, 1, -1):
    add(ROWWISE, f"Embedding, input_layouts=Replicate(), output_layouts=Shard({dim})",
        Layer(nn.Embedding(WORDS, WIDTH)), rowwise(input_layouts=R, output_layouts=Shard(dim)),
        inputs=IDS, result=Shard(dim))
add(ROWWISE, "Embedding of 50 words, input_layouts=Replicate()", Layer(nn.Embedding(50, WIDTH)),
    rowwise(input_layouts=R), inputs={"x": torch.randint(50, (BATCH, TOKENS))})
add(ROWWISE, "Embedding", Layer(nn.Embedding(WORDS, WIDTH)), rowwise(), inputs=IDS, differs=
    "takes the token ids for a shard of their last dimension, which is the default of a Linear, and "
    "gathers them: every rank then has each token four times. In tp the default of a table is "
    "`replicate`, because ids are no activations")

for dim in (None, -1):
    add(ROWWISE, f"output_layouts=Partial(), input_layouts={'R' if dim is None else 'Shard(-1)'}",
        Layer(nn.Linear(WIDTH, INNER, bias=False)),
        rowwise(input_layouts=R if dim is None else Shard(dim), output_layouts=Partial()),
        ports={} if dim is None else {"x": Shard(dim)}, result=Partial(), trains=False)
add(ROWWISE, "input_layouts=Partial()", Layer(nn.Linear(WIDTH, INNER)),
    rowwise(input_layouts=Partial()), ports={"x": Partial()})
add(COLWISE, "input_layouts=Partial()", Layer(nn.Linear(WIDTH, INNER)),
    colwise(input_layouts=Partial()), ports={"x": Partial()}, result=Shard(-1))

# Both
PAIR = {"w1": ColwiseParallel(), "w2": RowwiseParallel()}
BOTH = "ColwiseParallel, RowwiseParallel"
for bias in (True, False):
    add(BOTH, f"feed-forward{'' if bias else ' without biases'}", FeedForward(bias=bias), PAIR)
add(BOTH, "between layers", Between(FeedForward(), WIDTH, WIDTH),
    {f"layer.{key}": style for key, style in PAIR.items()})
add(BOTH, "a pattern", Between(FeedForward(), WIDTH, WIDTH),
    {"layer.*1": ColwiseParallel(), "l*.w2": RowwiseParallel()})
add(BOTH, "inner size of 18", FeedForward(18), PAIR, differs=
    "knows the parts between the two layers as local tensors, takes them for even ones, and fails. "
    "tp knows the global size")
for dim in (0, 1):
    add(BOTH, f"Shard({dim}) in and out", FeedForward(),
        {"w1": ColwiseParallel(input_layouts=Shard(dim)),
         "w2": RowwiseParallel(output_layouts=Shard(dim))},
        ports={"x": Shard(dim)}, result=Shard(dim))
add(BOTH, "gated feed-forward", Between(Gated(), WIDTH, WIDTH),
    {"layer.w[13]": ColwiseParallel(), "layer.w2": RowwiseParallel()})
HEADS_PLAN = {"layer.w[qkv]": ColwiseParallel(), "layer.wo": RowwiseParallel()}
add(BOTH, "attention", Between(Attention(), WIDTH, WIDTH), HEADS_PLAN)
add(BOTH, "attention of 4 heads and 2 key/value heads", Between(Attention(2), WIDTH, WIDTH),
    HEADS_PLAN, differs=
    "cuts a key/value head in two, and the module fails. tp shards the two heads over pairs of "
    "ranks, and both ranks of a pair have a head")

# SequenceParallel
for name, layer in {"LayerNorm": nn.LayerNorm(WIDTH), "RMSNorm": nn.RMSNorm(WIDTH),
                    "LayerNorm without weight": nn.LayerNorm(WIDTH, elementwise_affine=False),
                    "RMSNorm written out": RMSNorm()}.items():
    add("SequenceParallel", name, Layer(layer), {"layer": SequenceParallel()},
        ports={"x": Shard(1)}, result=Shard(1), trains="without" not in name)
for dim in (0, 1, 2):
    add("SequenceParallel", f"sequence_dim={dim}" if dim < 2 else "sequence_dim=-2",
        Layer(nn.LayerNorm(WIDTH)), {"layer": SequenceParallel(sequence_dim=dim if dim < 2 else -2)},
        ports={"x": Shard(min(dim, 1))}, result=Shard(min(dim, 1)))
add("SequenceParallel", "use_local_output=True", Layer(nn.LayerNorm(WIDTH)),
    {"layer": SequenceParallel(use_local_output=True)}, ports={"x": Shard(1)}, result=Shard(1))
add("SequenceParallel", "Dropout", Layer(nn.Dropout(0.0)), {"layer": SequenceParallel()},
    ports={"x": Shard(1)}, result=Shard(1), trains=False)
add("SequenceParallel", "replicated input", Layer(nn.LayerNorm(WIDTH)),
    {"layer": SequenceParallel()}, result=Shard(1), differs=
    "takes what every rank has whole for the parts of a sequence that is four times as long. tp "
    "cuts the value")

# PrepareModule*
TWO = {"x": torch.randn(BATCH, TOKENS, WIDTH), "y": torch.randn(BATCH, TOKENS, WIDTH)}
INPUT, OUTPUT = "PrepareModuleInput", "PrepareModuleOutput"
for local in (True, False):
    add(INPUT, f"feed-forward, use_local_output={local}", FeedForward(),
        {"": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=R,
                                use_local_output=local),
         "w1": ColwiseParallel(), "w2": RowwiseParallel(output_layouts=Shard(1))},
        ports={"x": Shard(1)}, result=Shard(1))
for outer, inner in ((R, Shard(1)), (Shard(0), Shard(1)), (Shard(1), Shard(-1)), (Shard(1), R)):
    add(INPUT, f"{outer} to {inner}", Layer(nn.Tanh()),
        {"layer": PrepareModuleInput(input_layouts=outer, desired_input_layouts=inner,
                                     use_local_output=True)},
        ports={} if outer == R else {"x": outer}, result=None if inner == R else inner,
        trains=False)
add(INPUT, "two inputs", Pairs(),
    {"inner": PrepareModuleInput(input_layouts=(Shard(1), R), desired_input_layouts=(R, R),
                                 use_local_output=True)},
    inputs=TWO, ports={"x": Shard(1)}, trains=False)
add(INPUT, "two inputs, one as it is", Pairs(),
    {"inner": PrepareModuleInput(input_layouts=(Shard(1), None), desired_input_layouts=(R, None),
                                 use_local_output=True)},
    inputs=TWO, ports={"x": Shard(1)}, trains=False)
add(INPUT, "a keyword", Pairs(True),
    {"inner": PrepareModuleInput(
        input_layouts=(Shard(0),), desired_input_layouts=(R,),
        input_kwarg_layouts={"y": Shard(1)}, desired_input_kwarg_layouts={"y": R},
        use_local_output=True)},
    inputs=TWO, ports={"x": Shard(0), "y": Shard(1)}, trains=False)
add(INPUT, "the root, two inputs", Pairs(),
    {"": PrepareModuleInput(input_layouts=(Shard(1), Shard(0)), desired_input_layouts=(R, R),
                            use_local_output=True)},
    inputs=TWO, ports={"x": Shard(1), "y": Shard(0)}, trains=False)
for inner in (R, Shard(1)):
    add(INPUT, f"Partial() to {inner}", Layer(nn.Tanh()),
        {"layer": PrepareModuleInput(input_layouts=Partial(), desired_input_layouts=inner,
                                     use_local_output=True)},
        ports={"x": Partial()}, result=None if inner == R else inner, trains=False)
add(INPUT, "the root, Partial() to Replicate()", nn.Tanh(),
    PrepareModuleInput(input_layouts=Partial(), desired_input_layouts=R, use_local_output=True),
    inputs={"input": torch.randn(BATCH, TOKENS, WIDTH)}, ports={"input": Partial()}, trains=False)
add(OUTPUT, "Replicate() to Partial()", Layer(nn.Tanh()),
    {"layer": PrepareModuleOutput(output_layouts=R, desired_output_layouts=Partial())},
    result=Partial(), trains=False, differs=
    "cannot redistribute from a replica to a partial sum. In tp the first rank keeps the numbers, "
    "which sends nothing")
for outer, inner in ((R, Shard(1)), (Shard(1), R), (Shard(0), Shard(1))):
    add(OUTPUT, f"{outer} to {inner}", Layer(nn.Tanh()),
        {"layer": PrepareModuleOutput(output_layouts=outer, desired_output_layouts=inner)},
        ports={} if outer == R else {"x": outer}, result=None if inner == R else inner,
        trains=False)
add(OUTPUT, "two results", Pairs(),
    {"inner": PrepareModuleOutput(output_layouts=(Shard(1), Shard(1)),
                                  desired_output_layouts=(R, R))},
    inputs=TWO, ports={"x": Shard(1), "y": Shard(1)}, trains=False)
add(OUTPUT, "two results, one as it is", Pairs(),
    {"inner": PrepareModuleOutput(output_layouts=(R, None), desired_output_layouts=(R, None))},
    inputs=TWO, trains=False)
add(OUTPUT, "partial sums", FeedForward(bias=False),
    {"w1": ColwiseParallel(),
     "w2": RowwiseParallel(output_layouts=R, use_local_output=False),
     "": PrepareModuleOutput(output_layouts=R, desired_output_layouts=Shard(1))}, result=Shard(1))
add("PrepareModuleInputOutput", "feed-forward", FeedForward(),
    {"": PrepareModuleInputOutput(input_layouts=Shard(1), desired_input_layouts=R,
                                  output_layouts=Shard(1), desired_output_layouts=R),
     "w1": ColwiseParallel(), "w2": RowwiseParallel(output_layouts=Shard(1))},
    ports={"x": Shard(1)})
add("PrepareModuleInputOutput", "Tanh", Layer(nn.Tanh()),
    {"layer": PrepareModuleInputOutput(
        input_layouts=Shard(0), desired_input_layouts=Shard(1), use_local_input=False,
        output_layouts=Shard(1), desired_output_layouts=R)}, ports={"x": Shard(0)}, trains=False)

# Whole models
BLOCK = {"attention_norm": SequenceParallel(), "ffn_norm": SequenceParallel(),
         "attention": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=R),
         "attention.w[qkv]": ColwiseParallel(),
         "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
         "feed_forward": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=R),
         "feed_forward.w[13]": ColwiseParallel(),
         "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1))}
LAYERS = {f"layers.*.{key}": style for key, style in BLOCK.items()}
MEGATRON = {"layers.*.attention.w[qkv]": ColwiseParallel(),
            "layers.*.attention.wo": RowwiseParallel(),
            "layers.*.feed_forward.w[13]": ColwiseParallel(),
            "layers.*.feed_forward.w2": RowwiseParallel()}
add("whole models", "a layer, sequence parallel", Block(), BLOCK, ports={"x": Shard(1)},
    result=Shard(1))
add("whole models", "a stage of a pipeline", Stage(), MEGATRON)
add("whole models", "a decoder, tensor parallel", Decoder(),
    {**MEGATRON, "tok_embeddings": RowwiseParallel(input_layouts=R),
     "output": ColwiseParallel(output_layouts=R)}, inputs=words())
add("whole models", "a decoder, sequence parallel", Decoder(),
    {**LAYERS, "tok_embeddings": RowwiseParallel(input_layouts=R, output_layouts=Shard(1)),
     "norm": SequenceParallel(),
     "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=R)}, inputs=words())
add("whole models", "tied embedding and head", Tied(),
    {"embedding": RowwiseParallel(input_layouts=R), "head": ColwiseParallel(output_layouts=R)}, inputs=words(),
    differs="makes two parameters of the tied one, and trains each by itself. "
    "In tp the weight stays one, and both entries ask for the same shards of it")


# Loss parallel
def cross_entropy(**options: Any) -> Loss:
    """F.cross_entropy over all tokens."""
    def loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(logits.flatten(0, 1), target.flatten(), **options)
    return loss


HEAD = {"layer": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)}
LOSS = "loss_parallel"


def add_loss(name: str, loss: Loss, count: int = WORDS, plan: Any = None,
             module: nn.Module | None = None, **more: Any) -> None:
    target = torch.randint(count, (BATCH, TOKENS))
    target[0, :3] = 1
    add(LOSS, name, module or Layer(nn.Linear(WIDTH, count)), plan or HEAD, loss=loss,
        target=target, **more)


add_loss("mean", cross_entropy())
add_loss("sum", cross_entropy(reduction="sum"))
add_loss("ignore_index=1", cross_entropy(ignore_index=1))
add_loss("weight", cross_entropy(weight=torch.rand(WORDS)))
add_loss("50 classes", cross_entropy(), 50)
add_loss("label_smoothing=0.1", cross_entropy(label_smoothing=0.1),
         differs="has no label smoothing under `loss_parallel`")
add_loss("a decoder, sequence parallel", cross_entropy(), module=Decoder(), inputs=words(), plan={
    **LAYERS, "tok_embeddings": RowwiseParallel(input_layouts=R, output_layouts=Shard(1)),
    "norm": SequenceParallel(),
    "output": ColwiseParallel(input_layouts=Shard(1), use_local_output=False)})

# Meshes of two axes: the ranks of a replica share its part of the batch.
AXES = "a mesh of two axes"
add(AXES, "Linear, colwise", Layer(nn.Linear(WIDTH, INNER)), colwise(), result=Shard(-1), data=2)
add(AXES, "Linear, rowwise, output_layouts=Shard(1)", Layer(nn.Linear(WIDTH, INNER)),
    rowwise(output_layouts=Shard(1)), ports={"x": Shard(-1)}, result=Shard(1), data=2)
add(AXES, "Embedding, rowwise", Layer(nn.Embedding(WORDS, WIDTH)), rowwise(input_layouts=R),
    inputs=IDS, data=2)
add(AXES, "feed-forward", FeedForward(), PAIR, data=2)
add(AXES, "a layer, sequence parallel", Block(), BLOCK, ports={"x": Shard(1)}, result=Shard(1),
    data=2)
add(AXES, "a decoder, tensor parallel", Decoder(),
    {**MEGATRON, "tok_embeddings": RowwiseParallel(input_layouts=R),
     "output": ColwiseParallel(output_layouts=R)}, inputs=words(), data=2)
