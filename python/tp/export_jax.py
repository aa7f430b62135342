"""From a JAX function to a model that tp compiles, by jaxlib's own lowering."""
from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .dtypes import DTYPES, name_of_numpy
from .errors import ExportError, ExportWarning, listed, near
from .export import require
from .from_jax.lowering import to_linalg
from .from_jax.tracing import FIXED, lowered
from .model import Model, Port, keys_of

# Of arguments that an option names; one of the optimizer's state may have another.
_KINDS = {"parameters": "parameter", "optimizer_state": "buffer", "state": "buffer"}


def export_jax(function: Callable[..., Any], args: Sequence[Any], *,
               parameters: int | str | Sequence[int | str] = (),
               optimizer_state: int | str | Sequence[int | str] = (),
               state: int | str | Sequence[int | str] = (),
               updates: Mapping[int | str, int | str] | None = None) -> Model:
    """The program that `jax.jit(function)(*args)` runs.

    Args:
        function: traceable by jax.jit.
        args: arrays, jax.ShapeDtypeStruct, numbers, and trees of these.
        parameters: which arguments are the model's parameters, by position or name. Their leaves
            are arguments of kind `parameter`, named by the path inside the tree
            (`layers.0.wq.kernel`); their values are the model's weights. Leaves of the others are
            inputs, named by the argument and the path (`batch.mask`). A name that an argument
            before it has already is preceded by the argument: `decoder.0.kernel`.
        optimizer_state: which arguments are state of the optimizer. A leaf whose path ends with the
            name of a parameter of its shape is of kind `opt_NAME`, where NAME is what comes before
            (`opt_mu`), and is sharded as the parameter is. Others, such as counters, are buffers.
        state: which arguments the ranks keep between calls: caches, counters, keys of random
            numbers. Their leaves are of kind `buffer`, named as inputs are, and the arrays given
            are their first values; `updates` says what their next ones are. An argument of
            `updates` that is none of these is an input without a first value.
        updates: which results are next values of which arguments: from the position or key of what
            the function returns to the position or name of an argument, `{0: "params"}`. Both are
            trees of the same names. The ranks keep these arrays, and a call does not return them.

    Raises:
        ExportError: the function cannot be traced or lowered.
    """
    require("jax")
    if not callable(function):
        raise ExportError(f"expected a function, got {type(function).__name__}")
    if not isinstance(args, (tuple, list)):
        raise ExportError(f"args: expected a tuple of the function's arguments, got "
                          f"{type(args).__name__}: write tp.export_jax(function, (x,))")
    names = _names(function, len(args))
    roles = _roles(names, {"parameters": parameters, "optimizer_state": optimizer_state,
                           "state": state})
    arguments, leaves = _arguments(args, names, roles)
    _warn_of_integers(arguments, {
        name for i, name in enumerate(names)
        if roles.get(i) == "parameters" and hasattr(args[i], "dtype")})
    traced = lowered(function, tuple(args), names)
    results = _updated(_results(traced), arguments, _pairs(updates, traced.out_info, names, args))
    mlir = to_linalg(traced, arguments, results)
    weights = {key: _array(leaf, key) for key, port, leaf in zip(
        keys_of(arguments), arguments, leaves) if port.kind != "user_input"}
    return Model(mlir, arguments, results, weights)


def _warn_of_integers(arguments: Sequence[Port], alone: set[str]) -> None:
    """Warns where a parameter is such as tokens. `alone` names those that are an array, no tree."""
    kept = [port for port in arguments if port.kind == "parameter"]
    given = [port for port in arguments
             if port.kind == "user_input" and port.dtype.startswith(("f", "bf"))]
    whole = ("i32", "i64", "u32", "u64")
    if kept and given and all(port.dtype in whole for port in kept):
        warnings.warn(ExportWarning(
            f"parameters: nothing but integers in {listed(map(str, kept), 2)}, and every call is to give "
            f"{listed(map(str, given), 2)}: write parameters={given[0].name.partition('.')[0]!r} if "
            "these are the weights"), stacklevel=3)
        return
    for port in kept:
        if port.name in alone and port.dtype in whole:
            warnings.warn(ExportWarning(
                f"parameters: '{port}' is an array of integers, which calls do not give: leave "
                f"'{port.name}' out of parameters if it is an input, and name it in state if steps "
                "count by it"), stacklevel=3)


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """Names of the positional arguments."""
    try:
        bound = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        bound = []
    names = [parameter.name for parameter in bound if parameter.kind in (
        parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    return (names + [f"arg{i}" for i in range(len(names), count)])[:count]


def _roles(names: list[str],
           options: Mapping[str, int | str | Sequence[int | str]]) -> dict[int, str]:
    """The option that names an argument, by the argument's position."""
    roles: dict[int, str] = {}
    for option, value in options.items():
        for i in sorted(_positions(option, value, names)):
            if i in roles:
                raise ExportError(f"argument '{names[i]}' is in {roles[i]} and in {option}")
            roles[i] = option
    return roles


def _positions(option: str, value: int | str | Sequence[int | str], names: list[str]) -> set[int]:
    given = [value] if isinstance(value, (int, str)) else list(value)
    positions = set()
    for item in given:
        if item in names:
            positions.add(names.index(str(item)))
        elif isinstance(item, int) and -len(names) <= item < len(names):
            positions.add(item % len(names))
        else:
            raise ExportError(f"{option}: expected positions or names among {names}, got "
                              f"{item!r}")
    return positions


def _arguments(args: Sequence[Any], names: list[str],
               roles: Mapping[int, str]) -> tuple[list[Port], list[Any]]:
    import jax
    ports: dict[tuple[int, int], Port] = {}
    leaves: dict[tuple[int, int], Any] = {}
    taken: dict[str, Port] = {}
    # Optimizer state is named by the parameters.
    for i in sorted(range(len(args)), key=lambda i: roles.get(i) == "optimizer_state"):
        role = roles.get(i, "")
        rows = [([_key(entry) for entry in path], leaf)
                for path, leaf in jax.tree_util.tree_flatten_with_path(args[i])[0]]
        bare = role == "parameters" and not any(".".join(keys) in taken for keys, _ in rows)
        for number, (keys, leaf) in enumerate(rows):
            port = _port(leaf, ".".join(keys if bare and keys else [names[i], *keys]),
                         _KINDS.get(role, "user_input"), not keys)
            if role == "optimizer_state":
                port = _state_port(port, [names[i], *keys], taken, ports.values())
            elif role == "parameters":
                taken[port.name] = port
            ports[i, number], leaves[i, number] = port, leaf
    if not ports:
        raise ExportError("the call has no array: the program would have no argument")
    order = sorted(ports)
    return [ports[place] for place in order], [leaves[place] for place in order]


def _state_port(port: Port, keys: list[str], parameters: Mapping[str, Port],
                others: Iterable[Port]) -> Port:
    """The port as state of the parameter that its path ends with, if there is one."""
    for begin in range(1, len(keys)):
        parameter = parameters.get(".".join(keys[begin:]))
        if parameter is not None and parameter.shape == port.shape:
            short, full = f"opt_{keys[begin - 1]}", "opt_" + "_".join(keys[:begin])
            is_taken = any(other.kind == short and other.name == parameter.name
                           for other in others)
            return replace(port, name=parameter.name, kind=full if is_taken else short)
    return port


# Of a tree among the arguments or the results: the number of its first leaf, and its paths.
_Leaves = tuple[int, list[str]]


def _leaves(trees: Sequence[Any]) -> list[_Leaves]:
    import jax
    found: list[_Leaves] = []
    first = 0
    for tree in trees:
        paths = [".".join(_key(entry) for entry in path)
                 for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]]
        found.append((first, paths))
        first += len(paths)
    return found


def _pairs(updates: Mapping[int | str, int | str] | None, returned: Any, names: list[str],
           args: Sequence[Any]) -> dict[int, int]:
    """From the number of a result to the one of the argument whose next value it is."""
    if updates is None:
        return {}
    if not isinstance(updates, Mapping):
        raise ExportError("updates: expected a dict from results to arguments such as "
                          f"{{0: 'params'}}, got {type(updates).__name__}")
    if isinstance(returned, Mapping):
        keys = sorted(returned)  # jax's order
        trees = [returned[key] for key in keys]
    elif isinstance(returned, (tuple, list)):
        keys, trees = list(range(len(returned))), list(returned)
    else:
        keys, trees = [0], [returned]
    outs, ins = _leaves(trees), _leaves(args)
    pairs: dict[int, int] = {}
    for result, argument in updates.items():
        if result not in keys or isinstance(result, bool):
            raise ExportError(f"updates: the function returns no {result!r}: expected one of "
                              f"{', '.join(map(repr, keys))}")
        i = argument if isinstance(argument, int) else (
            names.index(argument) if argument in names else len(names))
        if not 0 <= i < len(names):
            raise ExportError(f"updates: the function has no argument {argument!r}"
                              f"{near(str(argument), names) or f': expected one of {listed(names)}'}")
        (first, paths), (target, wanted) = outs[keys.index(result)], ins[i]
        if paths != wanted:
            other = sorted(({*paths} ^ {*wanted}) - {""})
            raise ExportError(f"updates: result {result!r} and argument '{names[i]}' are different "
                              f"trees: {listed(other)} in one alone")
        if any(target + k in pairs.values() for k in range(len(paths))):
            raise ExportError(f"updates: two results are next values of argument '{names[i]}'")
        pairs.update({first + k: target + k for k in range(len(paths))})
    return pairs


def _updated(results: list[Port], arguments: list[Port], pairs: Mapping[int, int]) -> list[Port]:
    """The results as docs/model-file.md has them: a next value has the name of its argument."""
    counts = Counter(port.name for port in arguments)
    for number, target in pairs.items():
        result, argument = results[number], arguments[target]
        if (result.shape, result.dtype) != (argument.shape, argument.dtype):
            instead = ("write .astype of the result" if result.shape == argument.shape else
                       "return all of the argument, such as x.at[i].set(part)")
            raise ExportError(f"updates: result '{result.name}' is {result.dtype}"
                              f"{list(result.shape)}, and argument '{argument.name}' "
                              f"{argument.dtype}{list(argument.shape)}: {instead}")
        key = argument.name if counts[argument.name] == 1 else f"{argument.kind}:{argument.name}"
        results[number] = replace(argument, kind="new_" + argument.kind.removeprefix("opt_"),
                                  updates=key)
    return results


def _key(entry: Any) -> str:
    for attribute in ("key", "name", "idx"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def _port(leaf: Any, name: str, kind: str, is_argument: bool = False) -> Port:
    """The port of an array. A complex one is fed as its parts, in a last dimension of 2."""
    import jax
    try:
        spec = jax.eval_shape(lambda x: x, leaf)
    except TypeError as error:
        hint = (FIXED.format(f"{name}=value") if is_argument else
                "leave it out of the tree, and let the function close over it")
        elements = f" of {leaf.dtype}" if hasattr(leaf, "dtype") else ""
        raise ExportError(f"argument '{name}': expected an array or a number, got "
                          f"{type(leaf).__name__}{elements}: {hint}") from error
    shape, dtype = tuple(spec.shape), name_of_numpy(np.dtype(spec.dtype)) if isinstance(
        spec.dtype, np.dtype) else str(spec.dtype)
    if dtype in ("complex64", "complex128"):
        shape, dtype = shape + (2,), {"complex64": "f32", "complex128": "f64"}[dtype]
    if dtype.startswith("key<"):
        raise ExportError(f"'{name}' is a key of jax.random: pass jax.random.key_data({name}), and "
                          f"write jax.random.wrap_key_data({name}) in the function")
    if dtype not in DTYPES:
        raise ExportError(f"'{name}' has elements of {dtype}, which files and programs of tp do "
                          "not have")
    return Port(name, kind, shape, dtype)


def _array(leaf: Any, name: str) -> np.ndarray[Any, Any]:
    if not hasattr(leaf, "__array__") and not isinstance(leaf, (int, float, bool, complex)):
        raise ExportError(f"argument '{name}' has no value: pass the array")
    import jax
    array = np.asarray(jax.numpy.asarray(leaf))
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    return array


def _results(traced: Any) -> list[Port]:
    import jax
    ports = []
    for path, info in jax.tree_util.tree_flatten_with_path(traced.out_info)[0]:
        keys = [_key(entry) for entry in path]
        named = bool(path) and (hasattr(path[0], "key") or hasattr(path[0], "name"))
        ports.append(_port(jax.ShapeDtypeStruct(info.shape, info.dtype),
                           ".".join(keys if named else ["output", *keys]), "user_output"))
    if not ports:
        raise ExportError("the function returns no array: expected at least one")
    return ports
