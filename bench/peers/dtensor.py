"""Collectives that torch's DTensor makes of models under the plans of bench/models, on a
process group that sends nothing.

    PYTHON dtensor.py < rows.json

PYTHON has torch; rows.py says what rows and answers are.
"""

import collections
import re

import rows
import least
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, loss_parallel,
    parallelize_module)
from torch.nn import functional
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode

STYLES = {"colwise": ColwiseParallel, "rowwise": RowwiseParallel,
          "sequence_parallel": SequenceParallel,
          "prepare_module_input": PrepareModuleInput}
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


def attend(q, k, v, heads, head_dim):
    """On a rank's own heads; [batch, sequence, width]."""
    q, k, v = (t.unflatten(-1, (-1, head_dim)).transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
    scores = q @ k.transpose(2, 3) / head_dim ** 0.5
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    y = torch.softmax(scores.masked_fill(mask, float("-inf")), -1) @ v
    return y.transpose(1, 2).flatten(2)


class LlamaAttention(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.sizes = s
        kv = s.kv_heads * s.head_dim
        self.wq, self.wo = (nn.Linear(s.dim, s.dim, bias=False) for _ in range(2))
        self.wk, self.wv = (nn.Linear(s.dim, kv, bias=False) for _ in range(2))

    def rotated(self, x):
        x = x.unflatten(-1, (-1, self.sizes.head_dim))
        cos, sin = (torch.ones(x.shape[1], 1, x.shape[-1]) for _ in range(2))
        a, b = x.chunk(2, -1)
        return (x * cos + torch.cat([-b, a], -1) * sin).flatten(2)

    def forward(self, x):
        q, k, v = self.rotated(self.wq(x)), self.rotated(self.wk(x)), self.wv(x)
        return self.wo(attend(q, k, v, self.sizes.heads, self.sizes.head_dim))


class LlamaFeedForward(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.w1, self.w3 = (nn.Linear(s.dim, s.ff, bias=False) for _ in range(2))
        self.w2 = nn.Linear(s.ff, s.dim, bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class LlamaBlock(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.attention, self.feed_forward = LlamaAttention(s), LlamaFeedForward(s)
        self.attention_norm, self.ffn_norm = nn.RMSNorm(s.dim), nn.RMSNorm(s.dim)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.tok_embeddings = nn.Embedding(s.vocab, s.dim)
        self.layers = nn.ModuleList(LlamaBlock(s) for _ in range(s.layers))
        self.norm = nn.RMSNorm(s.dim)
        self.output = nn.Linear(s.dim, s.vocab, bias=False)

    def forward(self, tokens):
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


class GPT2Attention(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.sizes = s
        self.c_attn, self.c_proj = nn.Linear(s.dim, 3 * s.dim), nn.Linear(s.dim, s.dim)

    def forward(self, x):
        s = self.sizes
        # Queries, keys and values of a head side by side, so that shards are of heads.
        packed = self.c_attn(x).unflatten(-1, (-1, 3, s.head_dim))
        q, k, v = (packed[..., part, :].flatten(2) for part in range(3))
        return self.c_proj(attend(q, k, v, s.heads, s.head_dim))


class GPT2FeedForward(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(s.dim, s.ff), nn.Linear(s.ff, s.dim)

    def forward(self, x):
        return self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh"))


class GPT2Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(s.dim), nn.LayerNorm(s.dim)
        self.attn, self.mlp = GPT2Attention(s), GPT2FeedForward(s)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2Body(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(s.vocab, s.dim), nn.Embedding(s.positions, s.dim)
        self.h = nn.ModuleList(GPT2Block(s) for _ in range(s.layers))
        self.ln_f = nn.LayerNorm(s.dim)

    def forward(self, tokens):
        x = self.wte(tokens)
        # A rank's rows of the positions, where it has some of the sequence.
        x = x + self.wpe(torch.arange(x.shape[1]))
        for layer in self.h:
            x = layer(x)
        return self.ln_f(x)


class GPT2(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.transformer = GPT2Body(s)
        self.lm_head = nn.Linear(s.dim, s.vocab, bias=False)

    def forward(self, tokens):
        return self.lm_head(self.transformer(tokens))


CLASSES = {"Llama": Llama, "GPT2": GPT2}


def placement(text):
    if text == "none":
        return None
    return Replicate() if text == "replicate" else Shard(int(re.search(r"-?\d+", text)[0]))


def style_of(name, options):
    """A style and options of bench/models as torch's object."""
    given = {}
    for key, layouts in re.findall(r"(\w+) = \[(.*?)\]", options):
        layouts = tuple(placement(text.strip()) for text in layouts.split(","))
        isModule = name.startswith("prepare")
        given[key] = layouts if isModule else layouts[0]
    return STYLES[name](**given)


def parallelized(model, plan, mesh):
    made = CLASSES[type(model).__name__](model.sizes)
    styles = {pattern: style_of(style, options) for pattern, style, options
              in getattr(model, plan.replace("-", "_"))()}
    # Logits stay split by classes, for a loss that takes them so.
    for head in styles.keys() & {"output", "lm_head"}:
        styles[head].use_local_output = False
    made = parallelize_module(made, mesh, styles)
    if isinstance(made, GPT2):
        made.lm_head.weight = made.transformer.wte.weight
    return made


def train(model, tokens, mesh):
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    with loss_parallel():
        logits = model(tokens).flatten(0, 1)
        labels = distribute_tensor(tokens.flatten(), mesh, [Replicate()],
                                   src_data_rank=None)
        functional.cross_entropy(logits, labels).backward()
    optimizer.step()


def measure(model, program, plan, axes):
    if type(model).__name__ not in CLASSES:
        raise ValueError("not written")
    if len(axes) > 1:
        raise ValueError("not measured: what reduces over dp is no part of DTensor")
    (axis, ranks), = axes.items()
    dist.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
    try:
        mesh = dist.device_mesh.init_device_mesh("cpu", (ranks,), mesh_dim_names=(axis,))
        parallel = parallelized(model, plan, mesh)
        tokens = torch.zeros(model.sizes.batch, model.sizes.seq, dtype=torch.long)
        with Counter(ranks) as counter:
            if program == "forward":
                with torch.no_grad():
                    parallel(tokens)
            else:
                train(parallel, tokens, mesh)
    finally:
        dist.destroy_process_group()
    return counter.counts, counter.bytes


if __name__ == "__main__":
    rows.answer(measure, torch.__version__)
