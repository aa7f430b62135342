"""Placements and parallel styles under torch's names, for plans on machines without torch.

`torch.distributed.tensor` and `torch.distributed.tensor.parallel` have classes of the same names,
and plans take theirs as well. docs/plans.md describes what a style does.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union


@dataclass(frozen=True)
class Shard:
    """The dimension `dim` is sharded; a negative one counts from the back."""
    dim: int


@dataclass(frozen=True)
class Replicate:
    """Every rank has the whole array."""


@dataclass(frozen=True)
class Partial:
    """The array is the sum (or another reduction) of what the ranks have."""
    reduce_op: str = "sum"


@dataclass(frozen=True)
class Rule:
    """How an op is split (docs/custom-ops.md), as DTensor's register_sharding states it.

    Attributes:
        dims: the dimensions of each operand, then those of each result: `"b i k, k j -> b i j"`.
        reduction: the names over which a rank may have a part of the result.
        combine: how these parts combine: `"sum"`, `"product"`, `"max"` or `"min"`.
    """
    dims: str
    reduction: Sequence[str] = ()
    combine: str = "sum"


Placement = Union[Shard, Replicate, Partial]
Layouts = Union[Placement, None, Sequence[Union[Placement, None]]]


class ParallelStyle:
    """The base of the styles."""


# torch's first release names the layouts at a module's boundary by functions. A style takes one as
# `_prepare_input` or `_prepare_output`, a dimension by functools.partial.


def make_input_replicate_1d() -> Placement:
    """The module's input is replicated."""
    return Replicate()


def make_input_reshard_replicate() -> Placement:
    """The module's input is sharded on dimension 0, and gathered."""
    return Shard(0)


def make_input_shard_1d(dim: int = 0) -> Placement:
    """The module's input is sharded on a dimension."""
    return Shard(dim)


def make_input_shard_1d_last_dim() -> Placement:
    """The module's input is sharded on its last dimension."""
    return Shard(-1)


def make_output_replicate_1d() -> Placement:
    """The module's output becomes replicated."""
    return Replicate()


def make_output_reshard_tensor() -> Placement:
    """The module's output becomes sharded on dimension 0."""
    return Shard(0)


def make_output_shard_1d(dim: int = 0) -> Placement:
    """The module's output becomes sharded on a dimension."""
    return Shard(dim)


def make_output_tensor() -> Placement:
    """The module's output becomes replicated."""
    return Replicate()


def make_sharded_output_tensor() -> Placement:
    """The output of a colwise module stays as it is."""
    return Shard(-1)


PREPARE_NAMES = ("make_input_replicate_1d", "make_input_reshard_replicate", "make_input_shard_1d",
                 "make_input_shard_1d_last_dim", "make_output_replicate_1d",
                 "make_output_reshard_tensor", "make_output_shard_1d", "make_output_tensor",
                 "make_sharded_output_tensor")


@dataclass(frozen=True)
class _WeightStyle(ParallelStyle):
    """The options of the styles that shard a weight."""
    input_layouts: Layouts = None
    output_layouts: Layouts = None
    use_local_output: bool = True
    _prepare_input: Any = None
    _prepare_output: Any = None


@dataclass(frozen=True)
class ColwiseParallel(_WeightStyle):
    """The weight of a Linear or Embedding is sharded by columns (output features)."""


@dataclass(frozen=True)
class RowwiseParallel(_WeightStyle):
    """The weight of a Linear is sharded by rows (input features), that of an Embedding by rows of
    the table."""


@dataclass(frozen=True)
class ReplicateParallel(ParallelStyle):
    """Every rank has all parameters of the module. torch has no such class."""


@dataclass(frozen=True)
class PairwiseParallel(ParallelStyle):
    """The linear layers of an MLP are colwise and rowwise in turn (torch's first release)."""
    input_layouts: Layouts = None
    output_layouts: Layouts = None
    _prepare_input: Any = None
    _prepare_output: Any = None


@dataclass(frozen=True)
class PairwiseSequenceParallel(PairwiseParallel):
    """The same between shards of dimension 0. It is SequenceParallel of torch's first release."""


@dataclass(frozen=True)
class SequenceParallel(ParallelStyle):
    """The module runs on shards of the dimension `sequence_dim`."""
    sequence_dim: int = 1
    use_local_output: bool = False


@dataclass(frozen=True)
class ContextParallel(ParallelStyle):
    """The sequence is sharded through the whole model, which has it along dimension `sequence_dim`
    of its inputs. Attention gathers keys and values, or with `rotate="ring"` has those of one rank
    after another, also in training. With `load_balance` ranks have as much to do where attention is
    causal. torch has a context manager in place of such a class."""
    sequence_dim: int = 1
    rotate: str = "gather"
    load_balance: bool = False


@dataclass(frozen=True)
class ExpertParallel(ParallelStyle):
    """The ranks share the experts of a module whose parameters are stacked over them, as
    `[experts, out, in]`. Every rank computes its experts; the results are added up. Of a module that
    takes and returns tokens by expert, `[experts, places, width]`, both layouts are `Shard(0)`."""
    input_layouts: Layouts = None
    output_layouts: Layouts = None


@dataclass(frozen=True)
class FullyShard(ParallelStyle):
    """Every rank stores a shard of each parameter below the module, and gathers the module's
    parameters before they are used. At stages 1 and 2 only what the optimizer keeps is sharded."""
    keep: bool = False
    stage: int = 3


@dataclass(frozen=True)
class Recompute(ParallelStyle):
    """What the backward pass reads of the module's forward pass is not kept: it is computed again
    from the values that enter the module, as by `torch.utils.checkpoint`."""


@dataclass(frozen=True)
class Override(ParallelStyle):
    """The style, a name or an object of torch or tp, in place of that of earlier entries on the
    same modules: `override = true` of a plan file."""
    style: Any


@dataclass(frozen=True)
class PrepareModuleInput(ParallelStyle):
    """The module's inputs are redistributed from `input_layouts` to `desired_input_layouts`."""
    input_layouts: Layouts = None
    desired_input_layouts: Layouts = None
    input_kwarg_layouts: Mapping[str, Placement] | None = None
    desired_input_kwarg_layouts: Mapping[str, Placement] | None = None
    use_local_output: bool = False


@dataclass(frozen=True)
class PrepareModuleOutput(ParallelStyle):
    """The module's outputs are redistributed from `output_layouts` to `desired_output_layouts`."""
    output_layouts: Layouts = None
    desired_output_layouts: Layouts = None
    use_local_output: bool = True


@dataclass(frozen=True)
class PrepareModuleInputOutput(ParallelStyle):
    """PrepareModuleInput and PrepareModuleOutput in one."""
    input_layouts: Layouts = None
    desired_input_layouts: Layouts = None
    input_kwarg_layouts: Mapping[str, Placement] | None = None
    desired_input_kwarg_layouts: Mapping[str, Placement] | None = None
    use_local_input: bool = False
    output_layouts: Layouts = None
    desired_output_layouts: Layouts = None
    use_local_output: bool = True


# What plans may call a style. tp-compile knows the same (lib/IR/PlanStyle.cpp), and a test compares
# the two.
STYLE_NAMES = (
    "colwise", "rowwise", "replicate", "sequence_parallel", "prepare_module_input",
    "prepare_module_output", "prepare_module_input_output", "all_reduce", "local_params",
    "moe_identity_expert", "pairwise_parallel", "pairwise_sequence_parallel", "transformer",
    "data_parallel", "context_parallel", "expert_parallel", "grouped_gemm", "ColwiseParallel",
    "RowwiseParallel", "ReplicateParallel", "SequenceParallel", "ContextParallel", "ExpertParallel",
    "PrepareModuleInput", "PrepareModuleOutput", "PrepareModuleInputOutput", "PairwiseParallel",
    "colwise_rep", "colwise_gather_output", "rowwise_rep", "rowwise_split_input",
    "embedding_rowwise", "embedding_colwise", "packed_colwise", "packed_rowwise",
    "replicated_with_grad_allreduce", "mla_kv_a_proj", "moe_tp_experts", "ep_dispatch_experts",
    "ep_router", "gather")


def partition_words(value: Any, name: str) -> str | None:
    """What a plan has for argument `name` in place of jax's PartitionSpec or NamedSharding; None of
    any other value."""
    spec = getattr(value, "spec", value)
    if type(spec).__name__ not in ("P", "PartitionSpec") or not isinstance(spec, Iterable):
        return None
    dims: dict[str, int] = {}
    for dim, axes in enumerate(spec):
        dims |= dict.fromkeys([axes] if isinstance(axes, str) else axes or (), dim)
    entries = {axis: f"'argument {name}': tp.Shard({dim})" for axis, dim in dims.items()}
    if len(entries) > 1:
        return "{" + ", ".join(f"{axis!r}: {{{entry}}}" for axis, entry in entries.items()) + "}"
    return "".join(entries.values()) or f"'argument {name}': tp.Replicate()"
