"""The parallelize plans that a transformers model carries."""
from __future__ import annotations

from fnmatch import fnmatchcase

import torch

from ..errors import CompileError
from .trace import is_transformers


def own_plan_of(module: torch.nn.Module, experts: bool = False) -> dict[str, str] | None:
    """From patterns of modules and parameters to names of styles, as transformers collects them
    from the base model's config and the heads, with the prefix that the transformers model has in
    `module`: its `_tp_plan`, or with `experts` its `_ep_plan`. A config's plan is for all models of
    its family, so it leaves out entries for what this one does not have. None where there is no
    plan."""
    names = [name.split(".") for members in (module.named_modules(), module.named_parameters())
             for name, _ in members]
    for path, part in module.named_modules():
        if is_transformers(part):
            plan = getattr(part, "_ep_plan" if experts else "_tp_plan", None) or {}
            prefix = f"{path}." if path else ""
            return {prefix + pattern: style for pattern, style in plan.items()
                    if any(_matches((prefix + pattern).split("."), name) for name in names)} or None
    return None


def own_plan_of_folder(path: str, experts: bool = False) -> dict[str, str] | None:
    """The plan of `own_plan_of` of the transformers model that a folder has, by its config.json
    alone: no weight is read. Raises CompileError where the folder has none."""
    import transformers
    try:
        config = transformers.AutoConfig.from_pretrained(path, local_files_only=True)
        names = getattr(config, "architectures", None) or []
        kind = getattr(transformers, names[0], None) if names else None
        with torch.device("meta"):
            module = kind(config) if kind else transformers.AutoModel.from_config(config)
    except (KeyError, OSError, ValueError) as error:
        raise CompileError(f"plan='hf:{path}': transformers cannot read the folder's config.json: "
                           f"{str(error).splitlines()[0]}") from error
    return own_plan_of(module, experts)


def _matches(patterns: list[str], name: list[str]) -> bool:
    return len(patterns) == len(name) and all(map(fnmatchcase, name, patterns))
