"""The arguments that entries of one model share: one tensor each, over all entries."""
from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from ..arrays import describe
from ..errors import ExportError, ExportWarning
from ..model import Model, Port, has_same_bits, keys_of

_CONSTANT = "constant_tensor"
# The option of tp.export_jax that makes an argument one of this kind.
_OPTIONS = {"parameter": "parameters", "buffer": "state"}
_WARNS_AT = 5  # frames up: who called tp.join_entries


@dataclass
class Shared:
    """What the entries of one model have.

    Attributes:
        arguments: those of all entries, in order; what several share is there once.
        weights: the values, by key.
        renamed: by the entry, new names of arguments, by their positions.
    """
    arguments: list[Port] = field(default_factory=list)
    weights: dict[str, Any] = field(default_factory=dict)
    renamed: dict[str, dict[int, str]] = field(default_factory=dict)


@dataclass
class _Argument:
    """An argument of an entry.

    Attributes:
        value: its weight, or None.
        is_shared: whether a later entry has it too.
    """
    entry: str
    port: Port
    value: Any
    is_shared: bool = False


def share(models: Mapping[str, Model]) -> Shared:
    """The arguments of models that become entries of one. Raises ExportError where two disagree on
    what they share."""
    tensors = {name for model in models.values() for name in _tensors(model)}
    shared = Shared(renamed={entry: {} for entry in models})
    first: dict[str, _Argument] = {}
    for entry, model in models.items():
        for number, argument in enumerate(_arguments(entry, model)):
            name = _name(argument.port)
            if name not in tensors:
                shared.arguments.append(argument.port)
                continue
            # Constants have names of the exporter's, which says nothing of what they are.
            while argument.port.kind == _CONSTANT and name in first and not _is_equal(
                    first[name], argument):
                name += "_"
                argument.port = replace(argument.port, name=name)
                shared.renamed[entry][number] = name
            if name not in first:
                first[name] = argument
                shared.arguments.append(argument.port)
            else:
                _check(first[name], argument)
                first[name].is_shared = True
    _warn_of_names(argument for argument in first.values() if not argument.is_shared)
    for key, port in zip(keys_of(shared.arguments), shared.arguments):
        tensor = first.get(_name(port))
        if tensor is not None and tensor.value is not None:
            shared.weights[key] = tensor.value
    return shared


def _arguments(entry: str, model: Model) -> Iterator[_Argument]:
    for port, key in zip(model.arguments, keys_of(model.arguments)):
        yield _Argument(entry, port, model.weights[key] if key in model.weights else None)


def _name(port: Port) -> str:
    """What tells a tensor from others: states of the optimizer have the names of their
    parameters."""
    return f"{port.kind}:{port.name}" if port.kind.startswith("opt_") else port.name


def _tensors(model: Model) -> Iterator[str]:
    """The names of arguments that are weights, or that a result updates."""
    updated = {port.updates for port in model.results}
    for port in model.arguments:
        if port.kind != "user_input" or updated & {port.name, f"{port.kind}:{port.name}"}:
            yield _name(port)


def _is_equal(one: _Argument, other: _Argument) -> bool:
    return (replace(one.port, name="") == replace(other.port, name="")
            and has_same_bits(one.value, other.value))


def _warn_of_names(alone: Iterable[_Argument]) -> None:
    """Warns where two entries seem to have one cache by two names."""
    states = [argument for argument in alone
              if argument.port.kind == "buffer" and argument.port.shape]
    for one, other in combinations(states, 2):
        # The name of an argument of JAX, and the path in it.
        paths = [argument.port.name.partition(".")[2] for argument in (one, other)]
        if one.entry != other.entry and paths[0] == paths[1] and (
                one.port.shape, one.port.dtype) == (other.port.shape, other.port.dtype):
            warnings.warn(ExportWarning(
                f"entry '{other.entry}' has '{other.port}', and entry '{one.entry}' '{one.port}': these "
                "are two tensors, as entries share what has one name: give the arguments of both "
                "functions one name if they are one"), stacklevel=_WARNS_AT)
            return


def _check(first: _Argument, argument: _Argument) -> None:
    """Raises ExportError where two arguments of one name are not one tensor."""
    one, other = first.port, argument.port
    rule = "entries share what has one name: "
    advice = "give different tensors different names"
    here = f"entry '{argument.entry}': argument '{other.name}' is "
    there = f"in entry '{first.entry}' it is "
    if one.kind != other.kind:
        options = [f"{_OPTIONS[kind]}=" for kind in (one.kind, other.kind) if kind in _OPTIONS]
        if options:
            advice = (f"name it in {' or '.join(options)} of tp.export_jax for both entries, or "
                      f"{advice}")
        raise ExportError(f"{here}of kind '{other.kind}', {there}of kind '{one.kind}': {rule}"
                          f"{advice}")
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        raise ExportError(f"{here}{describe(other.shape, other.dtype)}, {there}"
                          f"{describe(one.shape, one.dtype)}: {rule}export both with one shape "
                          f"and type, or {advice}")
    if first.value is not None and not has_same_bits(first.value, argument.value):
        raise ExportError(f"entry '{argument.entry}': the values of argument '{other.name}' are not "
                          f"those that it has in entry '{first.entry}': {rule}export both with the "
                          f"same arrays, or {advice}")
