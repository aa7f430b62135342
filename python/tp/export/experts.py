"""The experts of transformers models as products of all tokens with stacked weights."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch

# What a config's `_experts_implementation` says for it.
PRODUCTS = "tp_products"
# transformers' own: the weights of its experts are looked up for every token.
LOOKUPS = "batched_mm"


# Whether gradients of what `products` computes are traced.
_DIFFERENTIATED = ContextVar("_DIFFERENTIATED", default=False)


@contextmanager
def differentiated() -> Iterator[None]:
    """The experts that are traced inside are differentiated."""
    token = _DIFFERENTIATED.set(True)
    try:
        yield
    finally:
        _DIFFERENTIATED.reset(token)


def experts_implementation(config: Any) -> str:
    """How the experts of a model run in an export: as its config says where that is one of the two
    that can be exported, and else as there are more pairs of token and expert than experts or
    not."""
    wanted = getattr(config, "_experts_implementation", None)
    from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS
    ALL_EXPERTS_FUNCTIONS.register(PRODUCTS, products)
    ALL_EXPERTS_FUNCTIONS.register(_CHOSEN, _chosen)
    return wanted if wanted in (PRODUCTS, LOOKUPS) else _CHOSEN


_CHOSEN = "tp_chosen"


def _chosen(self: Any, hidden_states: torch.Tensor, top_k_index: torch.Tensor,
            top_k_weights: torch.Tensor) -> torch.Tensor:
    """Products where there are as many pairs of token and expert as experts; for fewer, as of one
    token, lookups read less."""
    from transformers.integrations.moe import batched_mm_experts_forward
    run = products if top_k_index.numel() >= self.num_experts else batched_mm_experts_forward
    result: torch.Tensor = run(self, hidden_states, top_k_index, top_k_weights)
    return result


def products(self: Any, hidden_states: torch.Tensor, top_k_index: torch.Tensor,
             top_k_weights: torch.Tensor) -> torch.Tensor:
    """What the module returns, where every expert computes every token: the results of those that
    a token has not chosen are left out, be they infinite or not. So the experts are a dimension of
    products, which ranks can share, forward and backward, whatever the router chooses.

    Where it is differentiated, what enters and leaves every product is zero for an expert that a
    token has not chosen, and so are their gradients: the compiler leaves these rows and terms
    out."""
    experts = torch.arange(self.num_experts, device=top_k_index.device)
    is_choice = top_k_index.unsqueeze(-1) == experts
    is_chosen = is_choice.any(1).t().unsqueeze(-1)

    def chosen(x: torch.Tensor) -> torch.Tensor:
        return torch.where(is_chosen, x, 0.0) if _DIFFERENTIATED.get() else x

    def multiplied(x: torch.Tensor, name: str) -> torch.Tensor:
        weight = getattr(self, name)
        made = torch.bmm(chosen(x), weight if self.is_transposed else weight.transpose(1, 2))
        if self.has_bias:
            made = made + getattr(self, f"{name}_bias").unsqueeze(1)
        return chosen(made)

    tokens = hidden_states.unsqueeze(0).expand(self.num_experts, -1, -1)
    if self.has_gate:
        inner = self._apply_gate(multiplied(tokens, "gate_up_proj"))
    else:
        inner = self.act_fn(multiplied(tokens, "up_proj"))
    made = multiplied(inner, "down_proj")
    if self.has_post_expert_norm:
        made = self.post_expert_norm(made)
    weights = torch.where(is_choice, top_k_weights.unsqueeze(-1), 0.0).sum(1)
    made = torch.where(is_chosen, made, 0.0)
    return (made * weights.t().unsqueeze(-1)).sum(0).to(hidden_states.dtype)
