"""Small modules that plans are tried on."""
from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

BATCH, TOKENS, WIDTH, INNER, HEADS, WORDS = 4, 32, 16, 32, 4, 64


class Layer(nn.Module):
    """One layer under the name `layer`, behind nothing and in front of nothing."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.layer(x)
        return y


class Between(nn.Module):
    """One layer between two that no plan names."""

    def __init__(self, layer: nn.Module, width: int, out: int) -> None:
        super().__init__()
        self.first, self.layer, self.last = nn.Linear(WIDTH, width), layer, nn.Linear(out, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.last(self.layer(self.first(x)))
        return y


class FeedForward(nn.Module):
    """Two linear layers and what is between them."""

    def __init__(self, inner: int = INNER, bias: bool = True) -> None:
        super().__init__()
        self.w1 = nn.Linear(WIDTH, inner, bias=bias)
        self.w2 = nn.Linear(inner, WIDTH, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.w2(F.gelu(self.w1(x)))
        return y


class Gated(nn.Module):
    """Llama's feed-forward block."""

    def __init__(self) -> None:
        super().__init__()
        self.w1 = nn.Linear(WIDTH, INNER, bias=False)
        self.w3 = nn.Linear(WIDTH, INNER, bias=False)
        self.w2 = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.w2(F.silu(self.w1(x)) * self.w3(x))
        return y


class Attention(nn.Module):
    """Attention with a projection each. The number of heads follows from the sizes, as PyTorch's
    styles need it: a rank's projection has some heads."""

    def __init__(self, kv_heads: int = HEADS) -> None:
        super().__init__()
        size = WIDTH // HEADS
        self.wq = nn.Linear(WIDTH, WIDTH)
        self.wk, self.wv = (nn.Linear(WIDTH, kv_heads * size) for _ in range(2))
        self.wo = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (w(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
                   for w in (self.wq, self.wk, self.wv))
        k, v = (part.repeat_interleave(q.shape[1] // part.shape[1], 1) for part in (k, v))
        weights = F.softmax(q @ k.transpose(-1, -2) / 2, -1)
        y: torch.Tensor = self.wo((weights @ v).transpose(1, 2).flatten(2))
        return y


class RMSNorm(nn.Module):
    """Llama's norm, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Block(nn.Module):
    """A layer of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.attention = RMSNorm(), Attention()
        self.ffn_norm, self.feed_forward = nn.LayerNorm(WIDTH), Gated()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        y: torch.Tensor = x + self.feed_forward(self.ffn_norm(x))
        return y


class Decoder(nn.Module):
    """A transformer: embedding, two layers, norm and head."""

    def __init__(self, words: int = WORDS) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(words, WIDTH)
        self.layers = nn.ModuleList([Block(), Block()])
        self.norm = nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, words, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        y: torch.Tensor = self.output(self.norm(x))
        return y


class Stage(nn.Module):
    """A stage of a pipeline: layers without embedding and head."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Block(), Block()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Tied(nn.Module):
    """An embedding whose table is the head's weight."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.head(self.norm(self.embedding(tokens)))
        return y


class Pair(nn.Module):
    """Two inputs, one of which may be named, and two results."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.sin(x) + y, x - torch.cos(y)


class Pairs(nn.Module):
    """A module of two inputs and two results, called by position or by keyword."""

    def __init__(self, by_keyword: bool = False) -> None:
        super().__init__()
        self.inner, self.by_keyword = Pair(), by_keyword

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x, y = x * 2, y * 3
        one, other = self.inner(x, y=y) if self.by_keyword else self.inner(x, y)
        result: torch.Tensor = one * other
        return result
