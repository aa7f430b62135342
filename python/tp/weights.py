"""Weights for a program: found by their names in files or dicts, checked before a rank gets one."""
from __future__ import annotations

import os
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np

from .arrays import (Bits, bits_of, describe, is_equal, is_exact, round_bits, to_bits, type_of,
                     widen_bits)
from .artifact import Port, by_name
from .dtypes import DTYPES, DType
from .errors import RunError, listed, near, plural
from .safetensors import SafeTensors, Stored
from .trees import is_tree, leaves

Source = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Weights = Union[Source, Sequence[Source], None]
# As many names stand in the code that a message proposes.
_FEW_NAMES = 3
# As many names of missing buffers are told.
_MOST_NAMES = 32
_MARKED = 1024
_FLOATS = ("f64", "f32", "f16", "bf16")


class OwnWeights(Mapping[str, Any]):
    """The weights of a model that was exported: tensors of the module, by name.

    They are not copied. One that has been changed in place since the export, as by training, is a
    RunError when it is read: a program would begin with other numbers than those of the export.
    Those that the module has replaced by others are there as they were: `replaced` tells them.

    Attributes:
        module: the module, or None where it is not known.
    """

    def __init__(self, weights: Mapping[str, Any], module: Any = None) -> None:
        self._weights = dict(weights)
        self._marks = {key: _mark_of(value) for key, value in weights.items()}
        self.module = module
        current = self._current()
        # Buffers that the program updates are copies.
        self._shared = {key for key in weights if _is_same(current.get(key), weights[key])}

    def _current(self) -> dict[str, Any]:
        """The tensors that the module has now."""
        if self.module is None:
            return {}
        return {**dict(self.module.named_parameters(remove_duplicate=False)),
                **dict(self.module.named_buffers(remove_duplicate=False))}

    def replaced(self) -> list[str]:
        """The weights in whose place the module has other numbers now."""
        current = self._current()
        return [key for key in self._weights if key in self._shared
                and not _is_same(current.get(key), self._weights[key])
                and _has_other_numbers(current.get(key), self._marks[key])]

    def __getitem__(self, key: str) -> Any:
        value = self._weights[key]
        if _mark_of(value) != self._marks[key]:
            raise RunError(f"weight '{key}' of the module has been changed in place since the export: "
                           "export the module again, export a copy of it (copy.deepcopy(module)), or "
                           "give weights=module.state_dict()")
        return value

    def __contains__(self, key: object) -> bool:
        return key in self._weights

    def __iter__(self) -> Iterator[str]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "module": None, "_shared": set()}


def warn_of_replaced(sources: Sequence[Mapping[str, Any]], stacklevel: int,
                     told: Container[str] = ()) -> list[str]:
    """Warns where a module has replaced weights of its model since the export, but those that were
    told before. Which they are. `stacklevel` is that of the caller."""
    names = [name for source in sources if isinstance(source, OwnWeights)
             for name in source.replaced() if name not in told]
    if names:
        what = ("weight {} of the module has" if len(names) == 1 else "weights {} of the module have")
        warnings.warn(f"{what.format(listed(names))} been replaced since the export, and the program "
                      "has the old numbers: export the module again, or give "
                      "weights=module.state_dict()", stacklevel=stacklevel + 1)
    return names


def _is_same(one: Any, other: Any) -> bool:
    """Whether two tensors have one memory."""
    try:
        return bool(one.data_ptr() == other.data_ptr())
    except (AttributeError, RuntimeError):  # no tensor, or one without memory of its own
        return False


def _has_other_numbers(tensor: Any, mark: tuple[int | None, bytes]) -> bool:
    """Whether a tensor is gone, or has not the numbers of the mark; not where it cannot be read, as
    on a device."""
    try:
        return tensor is None or _mark_of(tensor)[1] not in (mark[1], b"")
    except (RuntimeError, TypeError):
        return False


def _mark_of(value: Any) -> tuple[int | None, bytes]:
    """What a change in place changes: how often torch counted one, and about a thousand elements.
    Torch counts no changes through `tensor.data`, none by batch norm, and none of tensors of
    torch.inference_mode."""
    try:
        version = getattr(value, "_version", None)
    except RuntimeError:
        version = None
    try:
        bits = bits_of(value, "")[0]
    except RunError:  # reading it as a weight says what is wrong
        return version, b""
    most = max(int(_MARKED ** (1 / max(bits.ndim, 1))), 2)
    return version, bits[tuple(slice(None, None, -(-size // most) or 1) for size in bits.shape)].tobytes()


def open_sources(weights: Weights) -> list[Mapping[str, Any]]:
    """The sources as mappings from names to arrays; files are opened, and read later."""
    if weights is None:
        return []
    if isinstance(weights, (str, os.PathLike)):
        return [_open_path(os.fspath(weights))]
    if isinstance(weights, Mapping):
        nested = not isinstance(weights, (SafeTensors, OwnWeights)) and any(map(is_tree, weights.values()))
        return [dict(leaves(weights)) if nested else weights]
    if hasattr(weights, "_fields"):  # a named tuple, such as a state of optax
        return [dict(leaves(weights))]
    if hasattr(weights, "state_dict"):
        raise RunError("weights: expected a file or a dict of arrays, got a module: write "
                       "weights=module.state_dict()")
    if isinstance(weights, Sequence):
        if any(hasattr(part, "shape") for part in weights):
            return [dict(leaves(weights))]
        return [source for part in weights for source in open_sources(part)]
    raise RunError("weights: expected a path of a .safetensors file, a dict of arrays or a list of "
                   f"these, got {type(weights).__name__}")


def _open_path(path: str) -> SafeTensors:
    if os.path.isdir(path):
        names = ("model.safetensors.index.json", "model.safetensors", "weights.safetensors")
        for name in names:
            if os.path.exists(os.path.join(path, name)):
                return SafeTensors(os.path.join(path, name))
        others = sorted(name for name in os.listdir(path) if name.endswith(".safetensors"))
        advice = (f": give its files in a list, such as [{os.path.join(path, others[0])!r}]"
                  if others else "")
        raise RunError(f"{path}: the folder has none of {listed(names)}{advice}", code=2)
    return SafeTensors(path)


def identity_of_files(sources: Sequence[Mapping[str, Any]]) -> str | None:
    """The same text for the same files in any process; None if an array is from no file."""
    files = []
    for source in sources:
        if not isinstance(source, SafeTensors):
            return None
        files += [file.identity for file in source.files]
    return str(files)


def _candidates(port: Port, keys: tuple[str, ...]) -> Iterator[str]:
    yield from keys
    if not port.segments:
        yield f"{port.kind}:{port.name}"


class _Given(NamedTuple):
    """An array of the caller, as its bits."""
    bits: Bits
    dtype: DType


Found = Union[_Given, Stored]


class _OtherTypeError(RunError):
    """A weight has the right name and shape, and another element type."""


def _checked(value: Any, shape: tuple[int, ...], port: Port, where: str,
             source: Mapping[str, Any]) -> Found:
    """A weight with this shape, whose elements become those of the port without a loss: but for the
    rounding of one that is rounded when it is loaded."""
    if isinstance(value, Stored):
        if _is_taken(value.dtype, port) and value.shape == shape:
            return value
        text = (f"{where}: expected {describe(shape, _wanted(port).name)}, got "
                f"{describe(value.shape, value.dtype.name)}")
        if value.shape == shape:
            raise _OtherTypeError(f"{text}: {_type_advice(value.dtype, _wanted(port), source)}")
        raise RunError(f"{text}: these are the weights of another model")
    dtype = DTYPES.get(type_of(value))
    if dtype is None or not _is_taken(dtype, port):
        dtype = _wanted(port)
    return _Given(to_bits(value, shape, dtype, where), dtype)


def _is_taken(dtype: DType, port: Port) -> bool:
    return dtype in (port.dtype, _wanted(port)) or is_exact(dtype, _wanted(port))


def _type_advice(got: DType, wanted: DType, source: Mapping[str, Any]) -> str:
    if got.name not in _FLOATS or wanted.name not in _FLOATS:
        return ("the program has another element type there: export the module with these weights "
                "again")
    names = source.files if isinstance(source, SafeTensors) else []
    file = f"'{names[0].path}'" if len(names) == 1 else "file"
    arrays = (f"{{name: array.to(torch.{wanted.torch}) if array.dtype == torch.{got.torch} else "
              f"array for name, array in safetensors.torch.load_file({file}).items()}}")
    if len(names) > 1:
        folder = os.path.join(os.path.dirname(names[0].path), "*.safetensors")
        arrays = f"[{arrays} for file in glob.glob('{folder}')]"
    return (f"the weights are {got.name}, and the program computes in {wanted.name}: export the "
            f"module in {got.name} (module.to(torch.{got.torch})), or convert them: "
            f"weights={arrays}")


def _wanted(port: Port) -> DType:
    return port.rounded_from or port.dtype


def _as_stored(found: Found, port: Port) -> Bits:
    """The bits as the ranks have them."""
    if found.dtype == port.dtype:
        return found.bits
    wide = _widened(found, _wanted(port))
    return wide if port.rounded_from is None else (
        round_bits(wide, port.dtype, f"weight '{port.name}'"))


def _widened(found: Found, wanted: DType) -> Bits:
    return (widen_bits(found.bits, found.dtype, wanted) if is_exact(found.dtype, wanted) else
            found.bits)


def _is_equal(a: Found, b: Found, wanted: DType) -> bool:
    if isinstance(a, Stored) and isinstance(b, Stored) and a.is_same(b):
        return True
    first, second = ((a.bits, b.bits) if a.dtype == b.dtype else
                     (_widened(a, wanted), _widened(b, wanted)))
    return is_equal(first, second)


class Finder:
    """Looks up the arrays of ports, and knows which keys no port has used.

    Attributes:
        other_type: what is wrong with the first weight that `check` has found in a file with the
            right shape and another element type; empty if there is none.
    """

    def __init__(self, sources: list[Mapping[str, Any]]) -> None:
        self.sources = sources
        self.other_type = ""
        self.used: set[str] = set()

    def keys(self) -> list[str]:
        """All keys of the sources that are given."""
        return [key for source in self.sources if not isinstance(source, _OwnRest)
                for key in source]

    def unused(self) -> list[str]:
        """Keys that no argument has."""
        return [key for key in self.keys() if key not in self.used]

    def check(self, port: Port) -> bool:
        """Whether a source has all of the array. Raises as `find` does, but where only the element
        type is another one."""
        try:
            if not port.segments:
                return self._lookup(port, port.source_keys, port.shape) is not None
            return all([self._lookup(port, segment.source_keys, segment.shape) is not None
                        for segment in port.segments])
        except _OtherTypeError as error:
            self.other_type = self.other_type or str(error)
            return True

    def find(self, port: Port) -> Bits | None:
        """The bits of the whole array, or None where no source has it. Raises RunError where it
        has another shape or type, or where two sources differ."""
        if not port.segments:
            found = self._lookup(port, port.source_keys, port.shape)
            return None if found is None else _as_stored(found, port)
        parts = []
        for segment in port.segments:
            found = self._lookup(port, segment.source_keys, segment.shape)
            if found is None:
                return None
            parts.append((segment, found))
        whole = np.empty(port.shape, port.dtype.bits)
        for segment, found in parts:
            box = tuple(slice(begin, begin + size)
                        for begin, size in zip(segment.offset, segment.shape))
            whole[box] = _as_stored(found, port)
        return whole

    def _lookup(self, port: Port, keys: tuple[str, ...], shape: tuple[int, ...]) -> Found | None:
        found: Found | None = None
        first = ""
        for source in self.sources:
            for key in dict.fromkeys(_candidates(port, keys)):
                if key not in source:
                    continue
                self.used.add(key)
                value = _checked(source[key], shape, port, f"weight '{key}'", source)
                if found is None:
                    found, first = value, key
                elif not _is_equal(found, value, _wanted(port)):
                    names = (f"'{key}' is in two sources, with different values" if first == key else
                             f"'{first}' and '{key}' stand for one argument, '{port.name}', but "
                             "have different values")
                    raise RunError(f"weights: {names}: leave one of them out")
        return found


class _OwnRest(dict[str, Any]):
    """What of a model's own weights stands beside those that are given."""


def opened(weights: Any, ports: Sequence[Port]) -> list[Mapping[str, Any]]:
    """As open_sources; a tp.Model gives all of its weights where it stands alone, and beside other
    sources what these lack that is no parameter."""
    is_list = isinstance(weights, (list, tuple)) and not hasattr(weights, "_fields")
    parts = list(weights) if is_list else [weights]
    models = [part for part in parts if _is_model(part)]
    if not models:
        return open_sources(weights)
    sources = open_sources([part for part in parts if not _is_model(part)])
    for model in models:
        sources = with_own(sources, model.weights, ports) if sources else open_sources(model.weights)
    return sources


def _is_model(value: object) -> bool:
    return hasattr(value, "mlir") and hasattr(value, "weights")


def with_own(weights: Weights, own: Weights, ports: Sequence[Port]) -> list[Mapping[str, Any]]:
    """The sources, and of a model's own weights what they lack that is no parameter: buffers that
    a state_dict leaves out, the first state of an optimizer."""
    given = opened(weights, ports)
    finder = Finder(given)
    lacking = [port for port in ports if port.is_weight and port.kind != "parameter"
               and not port.dead and not finder.check(port)]
    return given + [_OwnRest({key: source[key] for port in lacking
                              for key in _candidates(port, port.source_keys) if key in source})
                    for source in open_sources(own)]


def missing_error(missing: list[Port], finder: Finder) -> RunError:
    """The error for weights that no source has, with a near name that is left over or the prefix
    that is missing."""
    names = [port.source_keys[0] if not port.segments else port.name for port in missing]
    if not finder.keys():
        text = f"no weights for {listed(names)}: "
        return RunError(f"{text}give weights= a .safetensors file or a dict of arrays",
                        in_shell=f"{text}add --weights=FILE, a .safetensors file or its folder")
    text = f"the weights lack {listed(names)}"
    if all(port.kind != "parameter" for port in missing):
        what = "which is no parameter" if len(names) == 1 else "which are no parameters"
        why = ("a module's state_dict has no state of its optimizer"
               if missing[0].is_optimizer_state
               else "a state_dict leaves out buffers that are not persistent")
        every = listed(names, _MOST_NAMES)
        text = f"the weights lack {every}, {what} ({why}): "
        state = next(iter(by_name(missing)))
        return RunError(f"{text}give the tp.Model beside them, weights=[..., tp.Model.load(FOLDER)], "
                        f"or write program.state['{state}'] = array",
                        in_shell=f"{text}add --buffers=FOLDER, the folder that export wrote")
    left = finder.unused()
    used = sorted(finder.used.intersection(finder.keys()))
    advice = _prefix_advice(names, left, used)
    if advice is not None:
        return RunError(f"{text}: {advice}")
    if not left:
        return RunError(f"{text}: what is given, {plural(len(used), 'name')}, is of other weights of "
                        "the model: add the missing ones")
    hint = near(names[0], left)
    if not hint and not used:
        return RunError(f"{text}: none of the names that are given is one of the model's; the first "
                        f"given is '{left[0]}', the first expected '{names[0]}': these may be the "
                        "weights of another model")
    return RunError(f"{text}{hint or '; there are ' + listed(left)}: these may be the weights of "
                    "another model")


def _prefix_advice(names: list[str], left: list[str], used: list[str]) -> str | None:
    """What to write where names that are left over have a prefix more or less than those that are
    missing. A name that is right, or that has another prefix, stays as it is."""
    renamed: dict[tuple[str, bool], dict[str, str]] = {}
    # A `weight` alone may be that of any module.
    unclear = {key for key in left if "." not in key
               and sum(name.endswith("." + key) for name in names) > 1}
    for name in names:
        for key in left:
            if key in unclear:
                continue
            if key.endswith("." + name):
                renamed.setdefault((key[:-len(name)], True), {})[key] = name
            elif name.endswith("." + key):
                renamed.setdefault((name[:-len(key)], False), {})[key] = name
    if not renamed:
        return None
    (prefix, is_longer), pairs = max(renamed.items(), key=lambda item: len(item[1]))
    others = {key for found in renamed.values() for key in found} - set(pairs)
    kept = [*used, *sorted(others)]
    change = f"name.removeprefix('{prefix}')" if is_longer else f"'{prefix}' + name"
    what = f"begin with '{prefix}'" if is_longer else f"lack '{prefix}'"
    if not kept:
        return (f"their names {what} here: write weights={{{change}: array for name, array in "
                "...}")
    if len(kept) <= _FEW_NAMES:
        stays = (f"name == '{kept[0]}'" if len(kept) == 1 else
                 f"name in ({listed(kept, _FEW_NAMES)})")
        return (f"their names {what} here, but for {listed(kept, _FEW_NAMES)}: write weights="
                f"{{name if {stays} else {change}: array for name, array in ...}}")
    examples = [f"'{key}' to '{name}'" for key, name in pairs.items()]
    rest = f" and {len(examples) - _FEW_NAMES} more" if len(examples) > _FEW_NAMES else ""
    return (f"some names {what} here: rename {', '.join(examples[:_FEW_NAMES])}{rest}, and leave "
            "the others as they are")
