"""The parallelize plan that a transformers model carries."""
from __future__ import annotations

import torch

from .trace import is_transformers


def own_plan_of(module: torch.nn.Module) -> dict[str, str] | None:
    """From patterns of modules to names of styles, as transformers collects them from the base
    model's config and the heads, with the prefix that the transformers model has in `module`.
    None where there is no plan."""
    for path, part in module.named_modules():
        if is_transformers(part):
            plan = getattr(part, "_tp_plan", None) or {}
            prefix = f"{path}." if path else ""
            return {prefix + pattern: style for pattern, style in plan.items()} or None
    return None
