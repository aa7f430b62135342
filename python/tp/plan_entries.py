"""Entries of a plan's dict as lines of a plan file: a style or a placement of torch's or tp's."""
from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import CompileError, listed, near
from .styles import (PREPARE_NAMES, STYLE_NAMES, FullyShard, Override, Recompute,
                     partition_words)

_PORTS = ("argument", "result")
# A style's options, with torch's default for each: a default is left out, so that what the plan
# does not say stays free. Layouts come first.
_COLWISE = {"input_layouts": "replicate", "output_layouts": "shard<-1>", "use_local_output": True}
_ROWWISE = {"input_layouts": "shard<-1>", "output_layouts": "replicate", "use_local_output": True}
_INPUT = {"input_layouts": None, "desired_input_layouts": None, "input_kwarg_layouts": None,
          "desired_input_kwarg_layouts": None, "use_local_output": False}
_OUTPUT = {"output_layouts": None, "desired_output_layouts": None, "use_local_output": True}
_PAIRWISE = {"input_layouts": None, "output_layouts": None}
_OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "ColwiseParallel": ("colwise", _COLWISE),
    "RowwiseParallel": ("rowwise", _ROWWISE),
    "ReplicateParallel": ("replicate", {}),
    "SequenceParallel": ("sequence_parallel", {"sequence_dim": 1, "use_local_output": False}),
    "ContextParallel": ("context_parallel",
                        {"sequence_dim": 1, "rotate": "gather", "load_balance": False}),
    "ExpertParallel": ("expert_parallel", {"input_layouts": None, "output_layouts": None}),
    "PrepareModuleInput": ("prepare_module_input", _INPUT),
    "PrepareModuleOutput": ("prepare_module_output", _OUTPUT),
    "PrepareModuleInputOutput": ("prepare_module_input_output",
                                 {**_INPUT, "use_local_input": False, **_OUTPUT}),
    "PairwiseParallel": ("pairwise_parallel", _PAIRWISE),
    "PairwiseSequenceParallel": ("pairwise_sequence_parallel", _PAIRWISE),
}
# The class of a style's name.
STYLE_CLASSES = {spelling: name for name, (spelling, _) in _OPTIONS.items()}
# What styles of torch's first release prepare unless they are told otherwise.
_PREPARED: dict[str, tuple[str, str]] = {
    "colwise": ("make_input_replicate_1d", "make_sharded_output_tensor"),
    "rowwise": ("make_input_shard_1d_last_dim", "make_output_tensor"),
    "pairwise_parallel": ("make_input_replicate_1d", "make_output_tensor"),
    "pairwise_sequence_parallel": ("make_input_reshard_replicate", "make_output_reshard_tensor"),
}


def _placement(value: Any, key: str, option: str) -> str:
    if value is None:
        return "none"
    name = type(value).__name__
    if name == "Shard":
        return f"shard<{value.dim}>"
    if name == "Replicate":
        return "replicate"
    if name == "Partial":
        return f"partial<{value.reduce_op}>"
    raise CompileError(f"plan entry '{key}': {option}: expected Shard(d), Replicate(), Partial() or "
                       f"None, got {value!r}", plan_entry=key)


def _layouts(value: Any, key: str, option: str) -> str:
    if isinstance(value, Mapping):
        parts = [f"{json.dumps(name)} = {_placement(layout, key, option)}"
                 for name, layout in value.items()]
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [_placement(layout, key, option) for layout in value]
        return parts[0] if len(parts) == 1 else "[" + ", ".join(parts) + "]"
    return _placement(value, key, option)


def _value(style: Any, option: str, default: Any) -> Any:
    """An option of tp's style or of torch's, which keeps some under other names. Styles of torch's
    first release lack what is newer."""
    if type(style).__name__ == "PrepareModuleInputOutput" and hasattr(style,
                                                                      "prepare_module_input"):
        inputs, outputs = style.prepare_module_input, style.prepare_module_output
        if option == "use_local_input":
            return inputs.use_local_output
        return getattr(outputs if "output" in option else inputs, option)
    if option == "sequence_dim" and hasattr(style, "sequence_sharding"):
        return style.sequence_sharding[0].dim
    return getattr(style, option, default if isinstance(default, (bool, int)) else None)


def _prepared(value: Any, key: str, option: str) -> str:
    """The layout that a style of torch's first release asks for by a function or its partial."""
    dim = ""
    function = value
    if isinstance(function, functools.partial):
        dim = f"<{function.keywords.get('dim', function.args[-1] if function.args else 0)}>"
        function = function.func
    name = getattr(function, "__name__", "")
    if name in PREPARE_NAMES:
        return name + dim
    if callable(value):
        raise CompileError(f"plan entry '{key}': {option}: tp knows what {listed(PREPARE_NAMES, 99)} "
                           f"do, got {value!r}: write a placement", plan_entry=key)
    return _layouts(value, key, option)


def _style(style: Any, key: str) -> str:
    """`colwise {output_layouts = replicate}`."""
    if isinstance(style, Override):
        if isinstance(style.style, (Override, FullyShard, Recompute)):
            raise CompileError(f"plan entry '{key}': expected a style that replaces another, got "
                               f"{style!r}: write {style.style!r}", plan_entry=key)
        spelling, options = _spelled(style.style, key)
        options.append("override = true")
    else:
        spelling, options = _spelled(style, key)
    return spelling + (" {" + ", ".join(options) + "}" if options else "")


def _spelled(style: Any, key: str) -> tuple[str, list[str]]:
    """The name of a style and its options."""
    if isinstance(style, str):
        if style not in STYLE_NAMES:
            hint = near(style, STYLE_NAMES) or f"; the styles are {listed(STYLE_NAMES, 99)}"
            raise CompileError(f"plan entry '{key}': tp has no style '{style}'{hint}",
                               plan_entry=key)
        return style, []
    name = type(style).__name__
    if name == "SequenceParallel" and hasattr(style, "_prepare_input"):
        name = "PairwiseSequenceParallel"  # of torch's first release
    if isinstance(style, type):
        raise CompileError(f"plan entry '{key}': expected a style, got the class {style.__name__}: "
                           f"write {style.__name__}()", plan_entry=key)
    if name not in _OPTIONS:
        hint = near(name, _OPTIONS) or f": expected one of {listed(_OPTIONS, 99)} or a style's name"
        raise CompileError(f"plan entry '{key}': tp has no style {name}{hint}", plan_entry=key)
    spelling, defaults = _OPTIONS[name]
    options = []
    for option, default in defaults.items():
        value = _value(style, option, default)
        if isinstance(default, (bool, int)):
            if value != default:
                text = str(value).lower() if isinstance(value, bool) else str(value)
                options.append(f"{option} = {text}")
        elif option == "rotate":
            if value != default:
                options.append(f"{option} = {json.dumps(value)}")
        elif value is not None and value != {}:
            text = _layouts(value, key, option)
            if text != default:
                options.append(f"{option} = {text}")
    for option, standard in zip(("_prepare_input", "_prepare_output"), _PREPARED.get(spelling, ())):
        if getattr(style, option, None) is not None:
            text = _prepared(getattr(style, option), key, option)
            if text != standard:
                options.append(f"{option} = {text}")
    return spelling, options


def _fully_shard(style: FullyShard, key: str) -> str:
    """The options of `tp.fully_shard`, where they differ from its defaults."""
    if not isinstance(style.keep, bool):
        raise CompileError(f"plan entry '{key}': keep: expected True or False, got {style.keep!r}",
                           plan_entry=key)
    if isinstance(style.stage, bool) or style.stage not in (1, 2, 3):
        raise CompileError(f"plan entry '{key}': stage: expected 1, 2 or 3, got {style.stage!r}",
                           plan_entry=key)
    options = ["keep = true"] * style.keep + [f"stage = {style.stage}"] * (style.stage != 3)
    return " {" + ", ".join(options) + "}" if options else ""


def is_style(value: object) -> bool:
    """Whether a value is an object of a style's class, of torch or of tp."""
    return type(value).__name__ in {*_OPTIONS, "FullyShard", "Override", "Recompute"}


def entry_line(key: Any, value: Any) -> str:
    """The line of an item of a plan's dict. Raises CompileError, which names the key."""
    if not isinstance(key, str):
        raise CompileError(f"plan: expected patterns of module names as keys, got {key!r}")
    kind, _, port = key.partition(" ")
    words = partition_words(value, port if kind in _PORTS and port else key)
    if words is not None:
        raise CompileError(f"plan entry '{key}': expected a style or a placement, got {value!r}: write "
                           f"{words}", plan_entry=key)
    if kind in _PORTS and port:
        name = port if port.isdigit() else json.dumps(port)
        return f"  tp.{kind} {name} {_placement(value, key, kind)}"
    if type(value).__name__ in ("Shard", "Replicate", "Partial"):
        raise CompileError(f"plan entry '{key}': expected a style, got the placement {value!r}: a "
                           f"placement belongs to 'argument NAME' or 'result NAME'", plan_entry=key)
    if isinstance(value, FullyShard):
        return f"  tp.fully_shard {json.dumps(key)}{_fully_shard(value, key)}"
    if isinstance(value, Recompute):
        return f"  tp.recompute {json.dumps(key)}"
    return f"  tp.parallelize {json.dumps(key)} with {_style(value, key)}"
