"""The models of bench/models in torch, with the same names of modules. A module computes on
what a rank has, wherever DTensor's styles give it that.

Of packed projections the parts of a head, or of a column of the feed-forward, lie side by
side, so that a shard of the weight is a part of each: DTensor has no layout of segments.
"""

import math

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Replicate
from torch.nn import functional


def partly_used(x, mesh):
    """x, that all ranks have, where each makes a term of its gradient."""
    if not isinstance(x, DTensor):
        x = DTensor.from_local(x, mesh, [Replicate()], run_check=False)
    return x.to_local(grad_placements=[Partial()])


class LinearOfRows(nn.Linear):
    """Whole on every rank of a mesh, if it has one, each having some rows of x."""

    mesh = None

    def forward(self, x):
        if self.mesh is None:
            return super().forward(x)
        return functional.linear(x, partly_used(self.weight, self.mesh),
                                 partly_used(self.bias, self.mesh))


def of_whole_heads(x):
    """Keys or values of which a rank has less than a head: all of them."""
    if not isinstance(x, DTensor):
        return x
    return partly_used(x.redistribute(placements=[Replicate()]), x.device_mesh)


def attend(q, k, v, s, first=0, isCausal=True):
    """[batch, sequence, width]: a rank's heads of the queries, from the head `first` of
    those that k and v are of."""
    q, k, v = (t.unflatten(-1, (-1, s.head_dim)).transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(s.heads // s.kv_heads, dim=1)
            .narrow(1, first, q.shape[1]) for t in (k, v))
    scores = q @ k.transpose(2, 3) / s.head_dim ** 0.5
    if isCausal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(mask, float("-inf"))
    y = torch.softmax(scores, -1) @ v
    return y.transpose(1, 2).flatten(2)


def unpacked(x, parts, unit):
    """[..., count, parts, unit] of the last dimension as `parts` tensors."""
    x = x.unflatten(-1, (-1, parts, unit))
    return (x[..., part, :].flatten(-2) for part in range(parts))


class LlamaAttention(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.sizes = s = model.sizes
        kv = s.kv_heads * s.head_dim
        if model.isPacked:
            self.wqkv = nn.Linear(s.dim, s.dim + 2 * kv, bias=False)
        else:
            self.wq = nn.Linear(s.dim, s.dim, bias=False)
            self.wk, self.wv = (nn.Linear(s.dim, kv, bias=False) for _ in range(2))
        self.wo = nn.Linear(s.dim, s.dim, bias=False)
        half = s.head_dim // 2
        angles = torch.arange(s.seq)[:, None] * 10000.0 ** (
            -(torch.arange(s.head_dim) % half) / half)
        self.cos, self.sin = (f(angles)[:, None] for f in (torch.cos, torch.sin))

    def rotated(self, x):
        x = x.unflatten(-1, (-1, self.sizes.head_dim))
        a, b = x.chunk(2, -1)
        return (x * self.cos + torch.cat([-b, a], -1) * self.sin).flatten(2)

    def forward(self, x):
        s, first = self.sizes, 0
        if hasattr(self, "wqkv"):
            q, k, v = unpacked(self.wqkv(x), 3, s.head_dim)
        else:
            q, k, v = self.wq(x), self.wk(x), self.wv(x)
        if isinstance(k, DTensor):
            first = k.device_mesh.get_local_rank() * q.shape[-1] // s.head_dim
            k, v = of_whole_heads(k), of_whole_heads(v)
        return self.wo(attend(self.rotated(q), self.rotated(k), v, s, first))


class LlamaFeedForward(nn.Module):
    def __init__(self, model):
        super().__init__()
        s = model.sizes
        if model.isPacked:
            self.w13 = nn.Linear(s.dim, 2 * s.ff, bias=False)
        else:
            self.w1, self.w3 = (nn.Linear(s.dim, s.ff, bias=False) for _ in range(2))
        self.w2 = nn.Linear(s.ff, s.dim, bias=False)

    def forward(self, x):
        gate, up = (unpacked(self.w13(x), 2, 1) if hasattr(self, "w13") else
                    (self.w1(x), self.w3(x)))
        return self.w2(functional.silu(gate) * up)


class Experts(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(shape))


class Mixture(nn.Module):
    """Products on a rank's part of every expert's inner width; the result is a sum over
    the ranks."""

    def __init__(self, model):
        super().__init__()
        s = model.sizes
        self.router = nn.Linear(s.dim, s.experts, bias=False)
        self.experts = nn.ModuleDict({
            "w1": Experts(s.experts, s.ff, s.dim), "w2": Experts(s.experts, s.dim, s.ff),
            "w3": Experts(s.experts, s.ff, s.dim)})

    def forward(self, x):
        router = self.router.weight
        w1, w2, w3 = (self.experts[name].weight for name in ("w1", "w2", "w3"))
        if isinstance(w1, DTensor):
            x, router = (partly_used(t, w1.device_mesh) for t in (x, router))
            w1, w2, w3 = (w.to_local() for w in (w1, w2, w3))
        weights = torch.softmax(functional.linear(x, router), -1)
        y = (functional.silu(torch.einsum("bsd,efd->ebsf", x, w1)) *
             torch.einsum("bsd,efd->ebsf", x, w3))
        return torch.einsum("ebsf,edf,bse->bsd", y, w2, weights)


class LlamaBlock(nn.Module):
    def __init__(self, model):
        super().__init__()
        isMixture = type(model).__name__ == "MixtureOfExperts"
        self.attention = LlamaAttention(model)
        self.feed_forward = (Mixture if isMixture else LlamaFeedForward)(model)
        self.attention_norm, self.ffn_norm = (
            nn.RMSNorm(model.sizes.dim, model.epsilon) for _ in range(2))

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self, model):
        super().__init__()
        s = model.sizes
        self.tok_embeddings = nn.Embedding(s.vocab, s.dim)
        self.layers = nn.ModuleList(LlamaBlock(model) for _ in range(s.layers))
        self.norm = nn.RMSNorm(s.dim, model.epsilon)
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
        q, k, v = unpacked(self.c_attn(x), 3, self.sizes.head_dim)
        return self.c_proj(attend(q, k, v, self.sizes))


class GPT2FeedForward(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(s.dim, s.ff), nn.Linear(s.ff, s.dim)

    def forward(self, x):
        return self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh"))


class GPT2Block(nn.Module):
    def __init__(self, s, epsilon):
        super().__init__()
        self.ln_1, self.ln_2 = (nn.LayerNorm(s.dim, epsilon) for _ in range(2))
        self.attn, self.mlp = GPT2Attention(s), GPT2FeedForward(s)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2Body(nn.Module):
    def __init__(self, s, epsilon):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(s.vocab, s.dim), nn.Embedding(s.positions, s.dim)
        self.h = nn.ModuleList(GPT2Block(s, epsilon) for _ in range(s.layers))
        self.ln_f = nn.LayerNorm(s.dim, epsilon)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1])[None])
        for layer in self.h:
            x = layer(x)
        return self.ln_f(x)


class GPT2(nn.Module):
    def __init__(self, model):
        super().__init__()
        s = model.sizes
        self.transformer = GPT2Body(s, model.epsilon)
        self.lm_head = nn.Linear(s.dim, s.vocab, bias=False)

    def forward(self, tokens):
        return self.lm_head(self.transformer(tokens))

    def tie(self):
        self.lm_head.weight = self.transformer.wte.weight


class BertEmbeddings(nn.Module):
    def __init__(self, s, epsilon):
        super().__init__()
        self.word_embeddings = nn.Embedding(s.vocab, s.dim)
        self.position_embeddings = nn.Embedding(s.positions, s.dim)
        self.token_type_embeddings = nn.Embedding(2, s.dim)
        self.LayerNorm = nn.LayerNorm(s.dim, epsilon)

    def forward(self, tokens, types):
        numbers = torch.arange(tokens.shape[1])[None]
        return self.LayerNorm(self.word_embeddings(tokens) +
                              self.token_type_embeddings(types) +
                              self.position_embeddings(numbers))


class BertSelfAttention(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.sizes = s
        self.query, self.key, self.value = (nn.Linear(s.dim, s.dim) for _ in range(3))

    def forward(self, x):
        return attend(self.query(x), self.key(x), self.value(x), self.sizes,
                      isCausal=False)


class BertOutput(nn.Module):
    def __init__(self, width, s, epsilon):
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(width, s.dim), nn.LayerNorm(s.dim, epsilon)

    def forward(self, y, x):
        return self.LayerNorm(self.dense(y) + x)


class BertLayer(nn.Module):
    def __init__(self, s, epsilon):
        super().__init__()
        self.attention = nn.ModuleDict({"self": BertSelfAttention(s),
                                        "output": BertOutput(s.dim, s, epsilon)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(s.dim, s.ff)})
        self.output = BertOutput(s.ff, s, epsilon)

    def forward(self, x):
        x = self.attention["output"](self.attention["self"](x), x)
        return self.output(functional.gelu(self.intermediate["dense"](x)), x)


class BertHead(nn.Module):
    def __init__(self, s, epsilon):
        super().__init__()
        self.transform = nn.ModuleDict({"dense": LinearOfRows(s.dim, s.dim),
                                        "LayerNorm": nn.LayerNorm(s.dim, epsilon)})
        self.decoder = nn.Linear(s.dim, s.vocab)

    def forward(self, x):
        x = functional.gelu(self.transform["dense"](x))
        return self.decoder(self.transform["LayerNorm"](x))


class Bert(nn.Module):
    def __init__(self, model):
        super().__init__()
        s, epsilon = model.sizes, model.epsilon
        layers = nn.ModuleList(BertLayer(s, epsilon) for _ in range(s.layers))
        self.bert = nn.ModuleDict({"embeddings": BertEmbeddings(s, epsilon),
                                   "encoder": nn.ModuleDict({"layer": layers})})
        self.cls = nn.ModuleDict({"predictions": BertHead(s, epsilon)})

    def forward(self, tokens, types):
        x = self.bert["embeddings"](tokens, types)
        for layer in self.bert["encoder"]["layer"]:
            x = layer(x)
        return self.cls["predictions"](x)

    def tie(self):
        self.cls["predictions"].decoder.weight = (
            self.bert["embeddings"].word_embeddings.weight)


CLASSES = {"Llama": Llama, "MixtureOfExperts": Llama, "GPT2": GPT2, "Bert": Bert}


def made(model):
    """Of a model of bench/models; what is one parameter there is not tied yet."""
    return CLASSES[type(model).__name__](model)


def as_here(model, name, x):
    """A parameter of bench/models, or its gradient, as the module here has it."""
    packed = [sizes for end, sizes in model.segments().items() if name.endswith(end)]
    isConv1D = name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))
    x = x.T if isConv1D else x
    if packed:
        parts = len(packed[0])
        unit = 1 if name.endswith("w13.weight") else model.sizes.head_dim
        x = x.unflatten(0, (parts, -1, unit)).transpose(0, 1).flatten(0, 2)
    return x
