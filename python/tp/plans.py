"""Plans given in Python, as the text of a plan file (docs/plans.md)."""
from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .artifact import Artifact, by_name
from .errors import CompileError, PlanWarning, listed, near, plural
from .plan_entries import entry_line, is_style
from .styles import STYLE_NAMES, Rule

Mesh = dict[str, int]
_RESERVED = ("auto",)
_TRANSFORMER = "transformer"
# The axes of tensor parallelism, of the batch and of experts.
_TENSORS = "tp"
_BATCH = "dp"
_EXPERTS = "ep"
_OPTIONAL = " optional"
_COMBINE = ("sum", "product", "max", "min")


@dataclass
class PlanText:
    """The text of a plan file, and the dict's key that every line came from."""
    lines: list[str] = field(default_factory=list)
    keys: dict[int, str] = field(default_factory=dict)

    def add(self, line: str, key: str | None = None) -> None:
        """Appends a line; errors at it are about the entry `key`."""
        self.lines.append(line)
        if key is not None:
            self.keys[len(self.lines)] = key

    @property
    def text(self) -> str:
        """What is written to the file."""
        return "\n".join(self.lines) + "\n"


def check_mesh(mesh: object) -> Mesh | None:
    """The mesh as a dict from axes to sizes; takes a dict, a number of ranks (axis `tp`), `tp=4,dp=2`
    or the number as a text. Raises CompileError."""
    if mesh is None:
        return None
    if isinstance(mesh, bool):
        raise CompileError(f"mesh: expected {{'tp': 4}} or a number of ranks, got {mesh}")
    if isinstance(mesh, str) and mesh.strip().isdecimal():
        mesh = int(mesh)
    if isinstance(mesh, int):
        mesh = {"tp": mesh}
    if isinstance(mesh, str):
        pairs = [part.partition("=") for part in mesh.split(",")]
        try:
            mesh = {name.strip(): int(size) for name, _, size in pairs}
        except ValueError:
            raise CompileError(f"mesh: expected 'tp=4', 'dp=2,tp=4' or a number of ranks, got {mesh!r}") from None
    if hasattr(mesh, "mesh_dim_names"):
        device_mesh: Any = mesh  # torch's
        if not device_mesh.mesh_dim_names:
            raise CompileError("mesh: expected a DeviceMesh with mesh_dim_names, got one without")
        mesh = {name: device_mesh.size(dim)
                for dim, name in enumerate(device_mesh.mesh_dim_names)}
    if not isinstance(mesh, Mapping):
        raise CompileError("mesh: expected a dict from axes to sizes such as {'tp': 4}, got "
                           f"{type(mesh).__name__}")
    if not mesh:
        raise CompileError("mesh: expected at least one axis, got {}: write {'tp': 1} for one rank")
    for name, size in mesh.items():
        if not isinstance(name, str) or not name:
            raise CompileError(f"mesh: expected names of axes, got {name!r}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise CompileError(f"mesh: axis '{name}': expected a number of ranks from 1 on, got "
                               f"{size!r}")
    return dict(mesh)


def mesh_flag(mesh: Mesh) -> str:
    """`dp=2,tp=4`."""
    return ",".join(f"{name}={size}" for name, size in mesh.items())


def _names(key: Any, mesh: Mesh) -> tuple[tuple[Any, ...], bool]:
    if isinstance(key, tuple):
        if not key:
            raise CompileError("plan: expected an axis, or a tuple of axes, as key, got ()")
        return key, False
    if (isinstance(key, int) and not isinstance(key, bool)) or str(key) in mesh:
        return (key,), False
    text = str(key)
    is_optional = text.endswith(_OPTIONAL)
    text = text.removesuffix(_OPTIONAL)
    names = (text,) if text in mesh else tuple(part.strip() for part in text.split(","))
    return names, is_optional


def _axis(name: Any, mesh: Mesh, key: Any, is_optional: bool) -> str:
    if isinstance(name, int) and not isinstance(name, bool):
        if not -len(mesh) <= name < len(mesh):
            raise CompileError(f"plan: the mesh has the axes {listed(mesh)}: expected an index from "
                               f"{-len(mesh)} to {len(mesh) - 1}, got {name}")
        return list(mesh)[name]
    text = str(name)
    if text not in mesh and not is_optional:
        whole = ", ".join(map(str, key)) if isinstance(key, tuple) else key
        raise CompileError(f"plan: the mesh has no axis {name!r}"
                           f"{near(text, mesh) or f'; it has {listed(mesh)}'}: a plan for an axis "
                           f"that a mesh may lack has the key '{whole}{_OPTIONAL}'")
    return text


def _axes_of(key: Any, mesh: Mesh) -> tuple[tuple[str, ...], bool]:
    """The axes that a plan is for, major first, and whether the mesh may lack them: `tp`, `tp
    optional`, an index, as torch's `tp_mesh_dim`, or several in a tuple or with commas. Raises
    CompileError."""
    names, is_optional = _names(key, mesh)
    axes = tuple(_axis(name, mesh, key, is_optional) for name in names)
    twice = [axis for axis in axes if axes.count(axis) > 1]
    if twice:
        raise CompileError(f"plan: {key!r} has axis '{twice[0]}' twice, expected each axis once")
    there = tuple(axis for axis in axes if axis in mesh)
    ordered = tuple(axis for axis in mesh if axis in there)
    if there != ordered:
        raise CompileError(f"plan: {key!r} has axes in another order than the mesh: write "
                           f"{ordered}; the first is major")
    return axes, is_optional


def _plans_by_axes(plan: Mapping[Any, Any], mesh: Mesh) -> dict[tuple[tuple[str, ...], bool], Any]:
    """The items of a dict from axes to plans. Raises CompileError where two are for the same
    axes."""
    plans: dict[tuple[tuple[str, ...], bool], Any] = {}
    keys: dict[tuple[str, ...], Any] = {}
    for key, entries in plan.items():
        axes, is_optional = _axes_of(key, mesh)
        if axes in keys:
            raise CompileError(f"plan: {keys[axes]!r} and {key!r} are the same axes, expected one "
                               "plan for them")
        keys[axes] = key
        plans[axes, is_optional] = entries
    return plans


def _names_axes(key: Any, mesh: Mesh) -> bool:
    """Whether a key of a plan's dict is one of axes, and not a pattern of modules."""
    names, is_optional = _names(key, mesh)
    return is_optional or all(isinstance(name, int) or name in mesh for name in names)


def is_transformer(plan: object) -> bool:
    """Whether a plan is tp's own for transformers: `transformer`, or that with options in braces."""
    return isinstance(plan, str) and plan.partition("{")[0].strip() == _TRANSFORMER


def check_axes_of_transformer(plan: str, mesh: Mesh) -> None:
    """Raises CompileError where the plan stands alone and the mesh has an axis for which it has no
    meaning: as an item of a dict it is for any axis."""
    others = [axis for axis in mesh if axis not in (_TENSORS, _BATCH)]
    if others:
        entries: dict[str, Any] = {_TENSORS if _TENSORS in mesh else others[0]: plan}
        if _BATCH in mesh:
            entries[_BATCH] = {"": "data_parallel"}
        raise CompileError(f"plan={plan!r}: alone it is for the axes '{_TENSORS}' and '{_BATCH}', "
                           f"the mesh has {listed(others)}: write plan={entries}")


def one_style(plan: Any) -> Any:
    """A style alone is for the whole module, as in torch."""
    return {"": plan} if is_style(plan) else plan


def plan_text(plan: Mapping[Any, Any], mesh: Mesh | None) -> PlanText:
    """The plan file of a dict: of entries for the only axis of the mesh, or of one dict (or
    `auto`) for an axis or several. Raises CompileError, which names the entry."""
    if mesh is None:
        raise CompileError("plan: a dict needs mesh=, such as mesh={'tp': 4}")
    per_axis = all(isinstance(value, Mapping) or value is None or value in _RESERVED
                   or (is_transformer(value) and _names_axes(key, mesh))
                   for key, value in plan.items()) and bool(plan)
    if per_axis:
        plans = _plans_by_axes(plan, mesh)
    elif len(mesh) == 1:
        plans = {((next(iter(mesh)),), False): plan}
    elif wrong := next((key for key, value in plan.items() if str(key) in mesh
                        and isinstance(value, str)), None):
        word = plan[wrong]
        hint = (f": write {{{wrong!r}: {{'': {word!r}}}}}" if word in STYLE_NAMES
                else near(word, (*_RESERVED, _TRANSFORMER, "hf")))
        raise CompileError(f"plan: axis {wrong!r}: expected a dict of entries, 'auto', 'hf' or "
                           f"'{_TRANSFORMER}', got {word!r}{hint}")
    else:
        raise CompileError(f"plan: the mesh has the axes {listed(mesh)}: expected a dict of entries "
                           f"for each, such as {{{next(iter(mesh))!r}: {{...}}}}")
    result = PlanText()
    sizes = ", ".join(f"{json.dumps(name)} = {size}" for name, size in mesh.items())
    result.add(f"#mesh = #tp.mesh<{sizes}>")
    for number, ((axes, is_optional), entries) in enumerate(plans.items()):
        marks = (" auto" if entries == "auto" else "") + (" optional" if is_optional else "")
        result.add(f"tp.plan @plan{number} on #mesh{json.dumps(axes)}{marks} {{")
        for key, value in (entries or {}).items() if isinstance(entries, Mapping) else ():
            for each in value if isinstance(value, (list, tuple)) and value else (value,):
                result.add(entry_line(key, each), key)
        if isinstance(entries, str) and is_transformer(entries):
            options = entries.removeprefix(_TRANSFORMER).strip()
            result.add(f'  tp.parallelize "" with {_TRANSFORMER} {options}'.rstrip(), entries)
        result.add("}")
    return result


def _op_name(op: Any) -> str:
    """The name of an op: as it stands, torch's `mylib::op` too, or of an op of torch."""
    name = op if isinstance(op, str) else str(op) if hasattr(op, "_schema") else getattr(
        op, "_qualified_op_name", None) or getattr(op, "_qualname", None)
    if not isinstance(name, str):
        raise CompileError("rules: expected the name of an op such as 'mylib.op', or an op of "
                           f"torch, got {op!r}")
    return name.replace("::", ".").removesuffix(".default")


def _rule(op: Any, rule: Any) -> str:
    name = _op_name(op)
    if isinstance(rule, str):
        rule = Rule(rule)
    if not isinstance(rule, Rule):
        raise CompileError(f"rules: op '{name}': expected a text such as 'i k, k j -> i j' or a "
                           f"tp.Rule, got {rule!r}")
    reduction = [rule.reduction] if isinstance(rule.reduction, str) else list(rule.reduction)
    options = []
    if reduction:
        options.append(f"reduction = [{', '.join(json.dumps(item) for item in reduction)}]")
    if rule.combine not in _COMBINE:
        raise CompileError(f"rules: op '{name}': combine: expected one of {', '.join(_COMBINE)}, "
                           f"got {rule.combine!r}")
    if rule.combine != "sum":
        options.append(f"combine = {json.dumps(rule.combine)}")
    return (f"tp.rule {json.dumps(name)} {json.dumps(rule.dims)}"
            f"{' {' + ', '.join(options) + '}' if options else ''}")


def add_rules(plan: PlanText, rules: Mapping[Any, Any]) -> None:
    """Adds the rules of a dict to the text of a plan."""
    if not isinstance(rules, Mapping):
        raise CompileError("rules: expected a dict from ops to rules, such as {'mylib.op': 'i k, k j "
                           f"-> i j'}}, got {type(rules).__name__}")
    for op, rule in rules.items():
        plan.add(_rule(op, rule), _op_name(op))


def as_entries(plan: Any, mesh: Mesh | None) -> Any:
    """A plan that rules can stand beside: a word as a dict of one plan per axis."""
    if plan is None:
        raise CompileError("rules: they state how a plan splits ops, expected plan= too")
    if isinstance(plan, Mapping):
        return plan
    if mesh is None and (plan == "auto" or is_transformer(plan)):
        return plan  # which is refused: it needs the mesh
    if mesh is not None and plan == "auto":
        return {axis: plan for axis in mesh}
    if is_transformer(plan):
        if mesh is not None and len(mesh) == 1:
            return {axis: plan for axis in mesh}
        raise CompileError("rules: with several axes expected a plan for each, such as "
                           "plan={'tp': 'transformer', 'dp': {'': 'data_parallel'}}")
    raise CompileError("rules: the plan is a file: write tp.rule lines beside the plans in it")


def is_own(plan: Any) -> bool:
    """Whether a plan is that of a transformers model: `hf`, or `hf:` and a folder."""
    return isinstance(plan, str) and (plan == "hf" or plan.startswith("hf:"))


def with_own_plan(plan: Any, model: Any, mesh: Mesh | None) -> Any:
    """The plan with entries in place of `hf` and `hf:FOLDER`: the model's plan for experts on an
    axis named `ep`, else its plan for tensor parallelism. Alone on a mesh of several axes these are
    for the axes `tp` and `ep`. Raises CompileError."""
    if is_own(plan):
        if mesh is None or len(mesh) == 1:
            return _own_plan(plan, model, None if mesh is None else next(iter(mesh)))
        axes = [axis for axis in (_TENSORS, _EXPERTS) if axis in mesh]
        if not axes:
            raise CompileError(f"plan={plan!r}: the mesh has the axes {listed(mesh)}: expected one "
                               f"named 'tp', or a plan per axis such as "
                               f"{{{next(iter(mesh))!r}: {plan!r}}}")
        return {axis: _own_plan(plan, model, axis) for axis in axes}
    if isinstance(plan, Mapping):
        return {key: _of_axis(key, value, model, mesh) if is_own(value) else value
                for key, value in plan.items()}
    return plan


def _of_axis(key: Any, plan: str, model: Any, mesh: Mesh | None) -> dict[str, str]:
    """The model's own plan for the axis of a dict's key, which may be an index or optional. Where the
    mesh lacks an optional axis, nothing of the model is asked for. Raises CompileError."""
    if mesh is None:
        return _own_plan(plan, model, key)
    axes, _ = _axes_of(key, mesh)
    there = [axis for axis in axes if axis in mesh]
    return _own_plan(plan, model, axes[0] if len(axes) == 1 else axes) if there else {}


def _own_plan(plan: str, model: Any, axis: Any) -> dict[str, str]:
    """The entries of `hf` or `hf:FOLDER` for an axis. Raises CompileError where there are none, or
    tp lacks their styles."""
    experts = axis == _EXPERTS
    if plan == "hf":
        entries = getattr(model, "own_expert_plan" if experts else "own_plan", None)
    else:
        folder = plan.removeprefix("hf:")
        if not os.path.exists(os.path.join(folder, "config.json")):
            raise CompileError(f"plan={plan!r}: expected a folder with a config.json, as "
                               "save_pretrained of transformers writes it")
        from .export import require
        require("torch", "transformers")
        from .export.own_plan import own_plan_of_folder
        entries = own_plan_of_folder(folder, experts)
    if not entries:
        lacks = (f"no plan for the axis {axis!r}: expected a transformers model with experts and a "
                 "base_model_ep_plan") if experts else (
                     "no plan of its own: expected a transformers model with a tp_plan")
        raise CompileError(f"plan={plan!r}: the model brings {lacks}; write plan='auto' or a dict")
    unknown = {style: pattern for pattern, style in entries.items() if style not in STYLE_NAMES}
    if unknown:
        style, pattern = next(iter(unknown.items()))
        raise CompileError(
            f"plan={plan!r}: the model's plan gives '{pattern}' the style '{style}', which tp lacks"
            f" (all that it lacks: {listed(unknown, 99)}): write plan='auto', or a dict with other "
            "styles for these modules", plan_entry=pattern)
    return dict(entries)


def warn_of_whole_layers(artifact: Artifact) -> None:
    """Warns where the model's own plan splits little of its layers. Some models of transformers
    have a plan of their head alone: every rank then computes all layers."""
    weights = [port for port in artifact.arguments
               if port.kind == "parameter" and len(port.shape) >= 2 and not port.dead
               and any(part.isdigit() for part in port.name.split("."))]
    whole = [port for port in weights if not port.is_cut]
    if artifact.size > 1 and 4 * sum(port.nbytes for port in whole) > 3 * sum(
            port.nbytes for port in weights):
        warnings.warn(PlanWarning(
            f"plan='hf': the model's own plan splits {len(weights) - len(whole)} of "
            f"{plural(len(weights), 'weight')} of the model's layers, and every rank computes with "
            f"all of {listed((port.name for port in whole), 2)}: write plan='auto', or a dict of "
            "styles"), stacklevel=3)


def positions_of_weights(plan: PlanText, artifact: Artifact) -> list[PlanWarning]:
    """A warning of each entry that names an argument by a position at which a weight is: the first
    arguments of a model are its parameters, not its inputs. One without a name has only that."""
    found: dict[str, PlanWarning] = {}
    for key in plan.keys.values():
        kind, _, position = key.partition(" ")
        if kind != "argument" or not position.isdigit():
            continue
        for entry in artifact.entries.values():
            named = by_name(entry.arguments)
            inputs = [f", or for an input 'argument {name}'" for name, port in named.items()
                      if not port.is_weight]
            for name, port in named.items():
                if port.index == int(position) and port.is_weight and name != f"argument{position}":
                    found.setdefault(key, PlanWarning(
                        f"plan entry '{key}': positions count parameters too, and this is the "
                        f"{port.kind} '{port.name}': write 'argument {name}'"
                        f"{''.join(inputs[:1])}", plan_entry=key))
    return list(found.values())


def is_plan_path(plan: object) -> bool:
    """Whether the plan is a file."""
    return isinstance(plan, os.PathLike) or (isinstance(plan, str) and plan != "auto"
                                             and not is_transformer(plan))
