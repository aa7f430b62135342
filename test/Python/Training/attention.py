"""Gradients of attention in the forms that models write it in, compared with PyTorch.

Each module's parameters are its queries, keys and values. A step of SGD with the rate 1 leaves them
less their gradients. What is right is what PyTorch computes in f64; tp may be four times as far from
it as PyTorch in the module's own type is. Behind that are the numbers of attention_backward commands
on one rank and on two.

    attention.py              all forms
    attention.py --random=N [--seed=S]   N random ones
"""
from __future__ import annotations

import argparse
import copy
import os
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn import functional as F

import tp

Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass
class Form:
    """An attention: its sizes, and what it does with q, k, v and an input of queries by keys."""
    attend: Attend
    batch: int = 2
    heads: int = 4
    shared: int = 4
    queries: int = 12
    keys: int = 12
    size: int = 8
    columns: int = 8
    dtype: torch.dtype = torch.float32
    #: Of the input: a float by default, else numbers of a mask.
    mask: Callable[[Form], torch.Tensor] | None = None
    #: Projections of an input are no parameters.
    frozen: tuple[str, ...] = ()


class Attention(nn.Module):
    """Queries, keys and values as parameters."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form = form

        def numbers(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(*shape).to(form.dtype))
        self.q = numbers(form.batch, form.queries, form.heads * form.size)
        self.k = numbers(form.batch, form.keys, form.shared * form.size)
        self.v = numbers(form.batch, form.keys, form.shared * form.columns)
        for name in form.frozen:
            getattr(self, name).requires_grad_(False)

    def forward(self, mask: torch.Tensor) -> torch.Tensor:
        """[queries, keys] to [batch, queries, heads * columns]."""
        form = self.form
        q, k, v = (each.unflatten(-1, (heads, size)).transpose(1, 2) for each, heads, size in
                   ((self.q, form.heads, form.size), (self.k, form.shared, form.size),
                    (self.v, form.shared, form.columns)))
        if form.heads != form.shared:
            k, v = (each.repeat_interleave(form.heads // form.shared, 1) for each in (k, v))
        return form.attend(q, k, v, mask).transpose(1, 2).flatten(2)


def loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A sum whose gradient differs at every element."""
    return (output * target).sum() + (output ** 2).sum() / 4


def softmax(scores: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32)).to(v.dtype) @ v


def sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def added(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype))


def hidden(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask > 0)


def filled(number: float) -> Attend:
    """Masked scores are a number, as in models from before scaled_dot_product_attention."""
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
               mask: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return softmax(scores.masked_fill(mask <= 0, number), v)
    return attend


def window(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    places, keys = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
    seen = (keys <= places) & (keys > places - 5)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def slopes(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """ALiBi with a causal mask."""
    places, keys = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])
    slope = 0.5 ** torch.arange(1, q.shape[1] + 1, dtype=torch.float32)[:, None, None]
    bias = (slope * (keys - places)).masked_fill(keys > places, float("-inf"))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))


def scaled(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return softmax((q * 0.3) @ (k / 1.7).transpose(-1, -2) * 2, v)


def einsum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    weights = torch.einsum("bhqd,bhkd->bhqk", q, k * 0.25).softmax(-1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, v)


def normed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Queries and keys that are normed before, and a result that is scaled behind."""
    q, k = (F.rms_norm(each, each.shape[-1:]) for each in (q, k))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True) * 0.5


def capped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return softmax(torch.tanh(q @ k.transpose(-1, -2) / 8) * 8, v)


def returned(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The weights have a use of their own."""
    weights = (q @ k.transpose(-1, -2) / 3).softmax(-1)
    return weights @ v + (weights ** 2).sum(-1, keepdim=True)


def biased(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """What is added to the scores has a gradient."""
    bias = torch.outer(q[0, 0, :, 0], k[0, 0, :, 0])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def visible(form: Form) -> torch.Tensor:
    """A mask that hides some keys of each query, and leaves one at least."""
    mask = torch.rand(form.queries, form.keys) - 0.5
    mask[:, 0] = 1
    return mask


def emptied(form: Form) -> torch.Tensor:
    """A mask of which two queries see nothing."""
    mask = visible(form)
    mask[3] = mask[7] = -1
    return mask


def lowest(form: Form) -> torch.Tensor:
    """0, or the least number, which is all that two queries get."""
    return torch.where(emptied(form) > 0, 0.0, torch.finfo(torch.float32).min)


FORMS = {
    "plain": Form(sdpa),
    "causal": Form(causal),
    "grouped": Form(causal, shared=2),
    "one head of keys": Form(causal, shared=1),
    "more keys": Form(sdpa, queries=5, keys=19),
    "wide values": Form(causal, columns=5),
    "one batch": Form(causal, batch=1, heads=3, shared=3),
    "added": Form(added),
    "added the least": Form(added, mask=lowest),
    "hidden": Form(hidden, mask=visible),
    "hidden rows": Form(hidden, mask=emptied),
    "filled with -inf": Form(filled(float("-inf")), mask=visible),
    "filled with the least": Form(filled(torch.finfo(torch.float32).min), mask=visible),
    "rows filled with the least": Form(filled(torch.finfo(torch.float32).min), mask=emptied),
    "window": Form(window, queries=16, keys=16),
    "slopes": Form(slopes),
    "scaled": Form(scaled),
    "einsum": Form(einsum, shared=2),
    "normed": Form(normed),
    "long": Form(causal, heads=2, shared=2, queries=300, keys=300),
    "long, not causal": Form(sdpa, heads=2, shared=1, queries=130, keys=700),
    "bf16": Form(causal, dtype=torch.bfloat16),
    "f16": Form(causal, dtype=torch.float16, shared=2),
    "f64": Form(causal, dtype=torch.float64),
    "of values and keys": Form(causal, frozen=("q",)),
    "of queries": Form(causal, frozen=("k", "v")),
    "of values": Form(causal, frozen=("q", "k")),
    "capped": Form(capped),
    "weights used": Form(returned),
    "trained bias": Form(biased),
}


def gradients(form: Form, module: nn.Module, batch: Any, dtype: torch.dtype) -> dict[str, Any]:
    """PyTorch's, in a type."""
    module = copy.deepcopy(module).to(dtype)
    inputs, target = batch
    # PyTorch's fused kernel loses the logarithm of a sum beside the least number.
    with sdpa_kernel(SDPBackend.MATH):
        loss(module(inputs), target.to(dtype)).backward()  # type: ignore[no-untyped-call]
    return {name: each.grad.double().numpy() for name, each in module.named_parameters()
            if each.grad is not None}


def far(found: dict[str, Any], right: dict[str, Any]) -> float:
    """The largest difference beside the largest number."""
    return max(float(np.abs(found[name] - right[name]).max() / np.abs(right[name]).max())
               for name in right)


# Beside it the rounding of the parameters that a step makes is nothing.
RATE = 64.0


def check(name: str, form: Form, meshes: list[int]) -> bool:
    """Runs a form on meshes; prints a line."""
    module = Attention(form)
    # Numbers that every type has exactly: all differences are of the computation.
    with torch.no_grad():
        for each in module.parameters():
            each.copy_(each.mul(16).round().div(16))
    mask = form.mask(form) if form.mask else torch.randn(form.queries, form.keys)
    target = torch.randn(form.batch, form.queries, form.heads * form.columns)
    batch = mask, target.mul(16).round().div(16).to(form.dtype)
    right = gradients(form, module, batch, torch.float64)
    allowed = 4 * far(gradients(form, module, batch, form.dtype), right) + 1e-6
    model = tp.export_training(module, loss, lambda each: torch.optim.SGD(each, lr=RATE), batch,
                               master_weights=form.dtype in (torch.bfloat16, torch.float16))
    good, commands = True, []
    for ranks in meshes:
        plan = {f"argument {each}": tp.Shard(2) for each in "qkv"} if ranks > 1 else {}
        with tp.compile(model, plan=plan, mesh={"tp": ranks}) as step, \
                tempfile.TemporaryDirectory() as folder:
            step.save(os.path.join(folder, "step.tp"))
            with open(os.path.join(folder, "step.tp"), "rb") as file:
                commands.append(file.read().count(b'"attention_backward"'))
            before = {each: np.asarray(step.state[each], np.float64) for each in right}
            masters = {each: f"opt_master:{each}" for each in right
                       if f"opt_master:{each}" in step.state}
            step(*batch)
            after = {each: np.asarray(step.state[masters.get(each, each)], np.float64)
                     for each in right}
            found = {each: (before[each] - after[each]) / RATE for each in right}
            distance = far(found, right)
            if not distance <= allowed:
                print(f"{name} on {ranks} ranks: {distance:.2g}, allowed {allowed:.2g}")
                good = False
    print(f"{name}: {'equal' if good else 'DIFFERS'}, commands {commands}", flush=True)
    return good


def random_form(rng: random.Random) -> tuple[str, Form]:
    """A form with sizes that fit nothing."""
    name, form = rng.choice(list(FORMS.items()))
    form = copy.copy(form)
    form.shared = rng.choice([1, 2, 3])
    form.heads = form.shared * rng.choice([1, 2, 3])
    form.batch = rng.choice([1, 2, 3])
    form.queries = rng.choice([8, 9, 17, 33, 150])
    form.keys = rng.choice([form.queries, form.queries, rng.randrange(2, 40), 600])
    form.size, form.columns = rng.choice([2, 3, 8]), rng.choice([2, 5, 8])
    # The least number of f32 is none of bf16.
    if "least" not in name:
        form.dtype = rng.choice([torch.float32] * 3 + [torch.bfloat16, torch.float64])
    return name, form


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    if not options.random:
        for name, form in FORMS.items():
            if options.only in (None, name):
                check(name, form, [1, 2])
        return
    rng = random.Random(options.seed)
    wrong = 0
    for number in range(options.random):
        name, form = random_form(rng)
        torch.manual_seed(options.seed * 1000 + number)
        wrong += not check(f"{number}: {name}", form, [rng.choice([1, 2, 3])])
    print(f"{options.random - wrong} equal, {wrong} not")


if __name__ == "__main__":
    main()
