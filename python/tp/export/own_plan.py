"""The parallelize plan that a transformers model carries."""
from __future__ import annotations

import torch


def own_plan_of(module: torch.nn.Module) -> dict[str, str] | None:
    """From patterns of modules to names of styles: the base model's plan with the prefix that the
    base model has in `module`, then the plan of the model's head. None where there is neither."""
    plan: dict[str, str] = {}
    for path, part in module.named_modules():
        config = getattr(part, "config", None)
        base = getattr(config, "base_model_tp_plan", None)
        prefix = f"{path}." if path else ""
        if base and _is_base(part):
            plan.update({prefix + pattern: style for pattern, style in base.items()})
        own = getattr(type(part), "_tp_plan", None)
        if own and isinstance(own, dict):
            plan.update({prefix + pattern: style for pattern, style in own.items()})
    return plan or None


def _is_base(module: torch.nn.Module) -> bool:
    """True for the part of a transformers model that its config's plan speaks of."""
    return (hasattr(module, "base_model_prefix") and hasattr(module, "config")
            and getattr(module, "base_model", None) is module)
