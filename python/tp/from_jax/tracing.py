"""Traces a function of JAX; what goes wrong is an error that says what to write instead."""
from __future__ import annotations

import re
from collections.abc import Callable
from itertools import dropwhile, takewhile
from typing import Any

from ..errors import ExportError, shortened, source_line
from .rules import check_loops, rules

# What a function says that is written for several devices, and what to write instead.
_OF_DEVICES = (
    ("unbound axis name", "write the function for one device, without collectives: tp inserts those "
                          "of the plan"),
    ("with_sharding_constraint", "leave it out, and write an entry of the plan for the module or "
                                 "the argument"),
)
FIXED = "write functools.partial(function, {}) and leave it out of args"
# How jax names the argument whose value a function needs while it is traced.
_ARGUMENT = re.compile(r"depends on the value of the argument (\w+)")


def lowered(function: Callable[..., Any], args: tuple[Any, ...], names: list[str]) -> Any:
    """What jax.jit(function).lower(*args) returns, with tp's lowering rules. `names` are those of the
    arguments. Raises ExportError where the function cannot be traced."""
    import jax
    from jax.interpreters.mlir import LoweringParameters
    try:
        traced = jax.jit(function, keep_unused=True).trace(*args)
        check_loops(traced.jaxpr.jaxpr)
        return traced.lower(_private_parameters=LoweringParameters(
            override_lowering_rules=rules()))
    except jax.errors.JAXTypeError as error:
        message = f"{_first_line(error)}: {_instead(error, args, names)}"
        line = source_line(error.__traceback__, jax)
        raise ExportError(f"{line}the function cannot be traced: {message}") from error
    except (NameError, RuntimeError) as error:
        instead = next((advice for words, advice in _OF_DEVICES if words in str(error)), None)
        if instead is None:
            raise
        line = source_line(error.__traceback__, jax)
        what = _first_line(error).partition(". ")[0]  # without jax's advice
        raise ExportError(f"{line}the function cannot be traced: {what}: {instead}") from error
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        fixed = _fixed(args, names)
        line = source_line(error.__traceback__, jax)
        message = f"{type(error).__name__}: " if not isinstance(
            error, (TypeError, ValueError)) else ""
        message += _first_line(error)
        if "static arguments" in message:
            message = f"jax.jit has a static argument: {fixed or FIXED.format('name=value')}"
        elif fixed and "concrete" in str(error):
            message += f": {fixed}"
        raise ExportError(f"{line}the function cannot be traced: {message}") from error


def _fixed(args: tuple[Any, ...], names: list[str]) -> str:
    """What to write where an argument is a Python number whose value the function needs."""
    numbers = [name for name, arg in zip(names, args) if isinstance(arg, (bool, int, float))]
    return FIXED.format(", ".join(f"{name}=value" for name in numbers)) if numbers else ""


def _instead(error: Exception, args: tuple[Any, ...], names: list[str]) -> str:
    """What to write where a value is needed while the function is traced."""
    import jax
    if isinstance(error, jax.errors.TracerArrayConversionError):
        return ("write the function of jax.numpy instead of the one of numpy, and "
                "jax.numpy.asarray(table)[index] to look up in an array of numpy")
    argument = _ARGUMENT.search(str(error))
    if argument and argument.group(1) in names:
        i = names.index(argument.group(1))
        fixed = _fixed(args[i:i + 1], names[i:i + 1])
        if fixed:
            return fixed
    return "write jax.numpy.where or jax.lax.select instead of a branch that depends on an array"


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    # What follows a colon says what differs, up to the next paragraph.
    told = [lines[0]]
    if told[0].endswith(":"):
        details = iter(line.strip() for line in lines[1:])
        told += [line for line in takewhile(bool, dropwhile(lambda line: not line, details))]
    return shortened(" ".join(told).rstrip("."))
