"""How JAX's loops, branches, sorts and random numbers are lowered, in place of JAX's own rules: by
ops that linalg has a form of.

Short loops become as many copies of their body, long ones stay loops. Every element is computed
from its place alone, so that each of these ops may be sharded along all dimensions but the one that
is sorted.
"""
from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import ExportError, ExportWarning, is_foreign

# A loop that becomes more operations than that stays a loop.
_MOST_COPIED = 250
# tp-compile unrolls loops in a loop: from so many operations on, that takes long.
_MOST_UNROLLED = 1000
# Operations that all loops of a function may become.
_MOST_OPERATIONS = 50_000
# Sorting compares every pair of a dimension.
_MOST_SORTED = 8192


def rules() -> tuple[tuple[Any, Any], ...]:
    """Pairs of a primitive of JAX and the rule that lowers it."""
    from jax.extend.core import primitives
    from jax.interpreters.mlir import lower_fun
    functions: dict[Any, Callable[..., Any]] = {
        primitives.scan_p: _scan,
        primitives.cond_p: _cond,
        primitives.sort_p: _sort,
        primitives.top_k_p: _top_k,
        primitives.select_and_scatter_add_p: _select_and_scatter_add,
        primitives.threefry2x32_p: _threefry2x32,
    }
    single = {primitives.select_and_scatter_add_p}
    return tuple((primitive, lower_fun(function, multiple_results=primitive not in single))
                 for primitive, function in functions.items())


def check_loops(jaxpr: Any) -> None:
    """Raises ExportError where loops become more operations than a program should have, or pairs
    of sorted elements are too many; warns of long loops in a loop."""
    operations = _operations(jaxpr)
    equations = list(_equations(jaxpr))
    if operations > _MOST_OPERATIONS:
        worst, line = max((row for row in equations if row[0].primitive.name == "scan"),
                          key=lambda row: _operations_of(row[0]), default=(None, ""))
        what = ("the function" if worst is None else
                f"a loop of {worst.params['length']} steps")
        raise ExportError(
            f"{line}{what} becomes {operations:,} operations, at most {_MOST_OPERATIONS:,} are "
            "supported: call the function once a step, with what the loop carries as an argument",
            op="scan")
    for line, length, unrolled in _loops_in_loops(jaxpr):
        warnings.warn(ExportWarning(
            f"{line}a loop of {length} steps has loops in it, which are unrolled to about "
            f"{unrolled:,} operations and take long to compile: write the outer loop in Python if it "
            "has few steps, or call the program once a step of it, with what it carries in updates"),
            stacklevel=4)
    for eqn, line in equations:
        if eqn.primitive.name == "sort":
            size = eqn.invars[0].aval.shape[eqn.params["dimension"]]
            if size > _MOST_SORTED:
                raise ExportError(
                    f"{line}sorting {size} elements compares every pair, at most {_MOST_SORTED} "
                    "are supported: sort outside of the function, or use jax.lax.top_k", op="sort")


def _loops_in_loops(jaxpr: Any, line: str = "") -> Iterable[tuple[str, int, int]]:
    """Loops that stay loops and have long ones in them: line, steps, and the operations of a step."""
    for eqn in jaxpr.eqns:
        own = _line(eqn) or line
        if eqn.primitive.name == "scan" and _is_kept(eqn.params["jaxpr"], eqn.params["length"]):
            body = eqn.params["jaxpr"].jaxpr
            unrolled = _unrolled(body)
            if unrolled > max(_MOST_UNROLLED, _operations(body)):
                yield own, eqn.params["length"], unrolled
        else:
            for inner in _inner(eqn):
                yield from _loops_in_loops(inner, own)


def _line(eqn: Any) -> str:
    """`FILE:LINE: ` of the user's code that made the equation, or nothing."""
    import jax
    traceback = getattr(eqn.source_info, "traceback", None)
    own = (frame for frame in (traceback.frames if traceback is not None else ())
           if not is_foreign(frame.file_name, jax))
    return next((f"{frame.file_name}:{frame.line_num}: " for frame in own), "")


def _inner(eqn: Any) -> list[Any]:
    """The programs that an equation holds."""
    from jax.extend.core import ClosedJaxpr, Jaxpr
    found: list[Any] = []
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, ClosedJaxpr):
                found.append(item.jaxpr)
            elif isinstance(item, Jaxpr):
                found.append(item)
    return found


def _operations_of(eqn: Any) -> int:
    inner = sum(map(_operations, _inner(eqn)))
    is_copied = (eqn.primitive.name == "scan"
                 and not _is_kept(eqn.params["jaxpr"], eqn.params["length"]))
    return (inner + 1) * (eqn.params["length"] if is_copied else 1)


def _operations(jaxpr: Any) -> int:
    return sum(map(_operations_of, jaxpr.eqns))


def _unrolled(jaxpr: Any) -> int:
    """Operations, where all loops are copies of their bodies."""
    return sum((1 + sum(map(_unrolled, _inner(eqn))))
               * (eqn.params["length"] if eqn.primitive.name == "scan" else 1) for eqn in jaxpr.eqns)


def _equations(jaxpr: Any, line: str = "") -> Iterable[tuple[Any, str]]:
    """Each equation with its line; one without has the line of what it is in."""
    for eqn in jaxpr.eqns:
        own = _line(eqn) or line
        yield eqn, own
        for inner in _inner(eqn):
            yield from _equations(inner, own)


def _called(jaxpr: Any, *args: Any) -> list[Any]:
    from jax.extend.core import jaxpr_as_fun
    return list(jaxpr_as_fun(jaxpr)(*args))


def _is_kept(jaxpr: Any, length: int) -> bool:
    """Whether a loop stays one. What it carries has to have a form as a tensor of tp."""
    import jax
    return (length * (_operations(jaxpr.jaxpr) + 1) > _MOST_COPIED
            and not any(jax.numpy.issubdtype(aval.dtype, jax.dtypes.extended)
                        for aval in (*jaxpr.in_avals, *jaxpr.out_avals)))


def _signed(x: Any) -> Any:
    """The bits of unsigned integers as signed ones, which loops carry."""
    import jax
    is_unsigned = jax.numpy.issubdtype(x.dtype, jax.numpy.unsignedinteger)
    return jax.lax.bitcast_convert_type(x, f"int{8 * x.dtype.itemsize}") if is_unsigned else x


def _as_type(x: Any, dtype: Any) -> Any:
    import jax
    return x if x.dtype == dtype else jax.lax.bitcast_convert_type(x, dtype)


def _loop(consts: list[Any], carry: list[Any], rows: Sequence[Any], reverse: bool, length: int,
          jaxpr: Any) -> list[Any]:
    """The steps as one loop that counts, which `write_loops` writes as scf.for."""
    import jax
    types = [aval.dtype for aval in jaxpr.out_avals]
    count = len(carry)

    def step(state: Any) -> Any:
        number, *carried = state
        at = length - 1 - number if reverse else number
        given = [jax.lax.dynamic_index_in_dim(row, at, keepdims=False) for row in rows]
        values = [_as_type(value, dtype)
                  for value, dtype in zip(carried[:count], types[:count], strict=True)]
        results = list(map(_signed, _called(jaxpr, *consts, *values, *given)))
        outputs = [jax.lax.dynamic_update_index_in_dim(output, result, at, 0)
                   for output, result in zip(carried[count:], results[count:], strict=True)]
        return (number + 1, *results[:count], *outputs)

    first = [jax.numpy.zeros((length, *aval.shape), aval.dtype)
             for aval in jaxpr.out_avals[count:]]
    _, *last = jax.lax.while_loop(lambda state: state[0] < length, step,
                                  (jax.numpy.int32(0), *map(_signed, [*carry, *first])))
    return [_as_type(value, dtype) for value, dtype in zip(last, types, strict=True)]


def _scan(*args: Any, reverse: bool, length: int, num_consts: int, num_carry: int, jaxpr: Any,
          **_: Any) -> list[Any]:
    """The steps one after another; a long loop stays one."""
    import jax
    consts, carry = list(args[:num_consts]), list(args[num_consts:num_consts + num_carry])
    rows = args[num_consts + num_carry:]
    if _is_kept(jaxpr, length):
        return _loop(consts, carry, rows, reverse, length, jaxpr)
    outputs: dict[int, list[Any]] = {}
    for step in reversed(range(length)) if reverse else range(length):
        given = [jax.lax.index_in_dim(row, step, keepdims=False) for row in rows]
        results = _called(jaxpr, *consts, *carry, *given)
        carry, outputs[step] = results[:num_carry], results[num_carry:]
    if not length:
        return [*carry, *(jax.numpy.zeros((0, *aval.shape), aval.dtype)
                          for aval in jaxpr.out_avals[num_carry:])]
    columns = zip(*(outputs[step] for step in range(length)), strict=True)
    return [*carry, *(jax.numpy.stack(column) for column in columns)]


def _cond(index: Any, *args: Any, branches: Sequence[Any], **_: Any) -> list[Any]:
    """All branches; their results are selected."""
    import jax
    results = [_called(branch, *args) for branch in branches]
    chosen = results[0]
    for number, others in enumerate(results[1:], start=1):
        # An index beyond the branches is the last one's.
        taken = index >= number if number + 1 == len(results) else index == number
        chosen = [jax.lax.select_n(taken, before, other)
                  for before, other in zip(chosen, others, strict=True)]
    return chosen


def _less(a: Any, b: Any) -> tuple[Any, Any]:
    """Where `a` sorts before `b`, and where they are equal; NaN is the last, and equal to NaN."""
    import jax
    numpy = jax.numpy
    if not numpy.issubdtype(a.dtype, numpy.floating):
        return a < b, a == b
    both = numpy.isnan(a) & numpy.isnan(b)
    return (a < b) | (numpy.isnan(b) & ~numpy.isnan(a)), (a == b) | both


def _sort(*operands: Any, dimension: int, num_keys: int, **_: Any) -> list[Any]:
    """The place of an element is the number of elements before it."""
    import jax
    numpy = jax.numpy
    if operands[0].shape[dimension] < 2:
        return list(operands)
    last = [numpy.moveaxis(operand, dimension, -1) for operand in operands]
    if any(numpy.iscomplexobj(key) for key in last[:num_keys]):
        raise ExportError("sorting complex numbers is not supported: sort the real part, then the "
                          "imaginary part, by jax.lax.sort with num_keys=2", op="sort")
    index = _order(last[:num_keys])
    return [numpy.moveaxis(_taken(operand, index), -1, dimension) for operand in last]


def _order(keys: Sequence[Any]) -> Any:
    """The places of the sorted elements of the last dimension, stable."""
    import jax
    numpy = jax.numpy
    size = keys[0].shape[-1]
    place = numpy.arange(size, dtype="int32")
    before, equal = numpy.zeros((), bool), numpy.ones((), bool)
    for key in keys:
        less, same = _less(key[..., None, :], key[..., :, None])  # [.., i, j] compares j with i
        before, equal = before | (equal & less), equal & same
    before = before | (equal & (place[None, :] < place[:, None]))
    rank = before.sum(-1, dtype="int32")
    return numpy.where(rank[..., None, :] == place[:, None], place, 0).sum(-1, dtype="int32")


def _taken(x: Any, index: Any) -> Any:
    import jax
    return jax.numpy.take_along_axis(x, index, -1, mode="promise_in_bounds")


def _top_k(x: Any, *, k: int, axis: int = -1, **_: Any) -> list[Any]:
    """Takes the best element k times, the first of equal ones, or sorts where that is less."""
    import jax
    numpy = jax.numpy
    x = numpy.moveaxis(x, axis, -1)
    size = x.shape[-1]
    key = _total_order(x)
    if k > 4 and k * 8 > size and size <= _MOST_SORTED:
        index = _order([~key])[..., :k]
    else:
        place = numpy.arange(size, dtype="int32")
        free = numpy.ones(x.shape, bool)
        indices = []
        for _choice in range(k):
            best = numpy.where(free, key, numpy.iinfo(key.dtype).min).max(-1, keepdims=True)
            indices.append(numpy.where(free & (key == best), place, size).min(-1))
            free = free & (place != indices[-1][..., None])
        index = numpy.stack(indices, -1) if k else numpy.zeros((*x.shape[:-1], 0), "int32")
    return [numpy.moveaxis(found, -1, axis) for found in (_taken(x, index), index)]


def _total_order(x: Any) -> Any:
    """Integers in the order of IEEE 754's totalOrder, which XLA's top_k takes: -NaN, -inf, ..,
    -0.0, 0.0, .., inf, NaN."""
    import jax
    if not jax.numpy.issubdtype(x.dtype, jax.numpy.floating):
        return x.astype("int32") if x.dtype == bool else x
    bits = x.dtype.itemsize * 8
    integer = jax.lax.bitcast_convert_type(x, f"int{bits}")
    greatest = (1 << (bits - 1)) - 1
    return jax.numpy.where(integer < 0, integer ^ greatest, integer)


def _select_and_scatter_add(source: Any, operand: Any, *, select_prim: Any,
                            window_dimensions: Sequence[int], window_strides: Sequence[int],
                            padding: Sequence[tuple[int, int]]) -> Any:
    """The gradient of the largest or smallest elements of windows: each place of the windows hands
    back what was taken there."""
    import jax
    numpy, lax = jax.numpy, jax.lax
    around = [(before, after, 0) for before, after in padding]
    zero = numpy.zeros((), operand.dtype)
    padded = lax.pad(operand, zero, around)
    inside = lax.pad(numpy.ones(operand.shape, bool), numpy.zeros((), bool), around)
    taps = list(itertools.product(*map(range, window_dimensions)))
    ends = [[tap + (count - 1) * step + 1
             for tap, count, step in zip(begin, source.shape, window_strides, strict=True)]
            for begin in taps]
    best, chosen = numpy.zeros(source.shape, operand.dtype), numpy.full(source.shape, -1, "int32")
    for number, (begin, end) in enumerate(zip(taps, ends, strict=True)):
        element = lax.slice(padded, begin, end, window_strides)
        valid = lax.slice(inside, begin, end, window_strides)
        taken = valid & ((chosen < 0) | ~select_prim.bind(best, element))
        best = numpy.where(taken, element, best)
        chosen = numpy.where(taken, number, chosen)
    total = numpy.zeros(padded.shape, source.dtype)
    for number, (begin, end) in enumerate(zip(taps, ends, strict=True)):
        part = numpy.where(chosen == number, source, numpy.zeros((), source.dtype))
        total = total + lax.pad(part, numpy.zeros((), source.dtype), [
            (low, size - high, step - 1) for low, high, size, step in zip(
                begin, end, padded.shape, window_strides, strict=True)])
    lows = [before for before, _ in padding]
    return lax.slice(total, lows, [low + size for low, size in zip(lows, operand.shape,
                                                                   strict=True)])


def _threefry2x32(first: Any, second: Any, x: Any, y: Any) -> list[Any]:
    """The Threefry-2x32 hash with 20 rounds of counters `x`, `y` under a key: the numbers of
    jax.random (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011)."""
    import jax
    numpy = jax.numpy
    keys = [first, second, first ^ second ^ numpy.uint32(0x1BD11BDA)]
    rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
    x, y = x + keys[0], y + keys[1]
    for number in range(5):
        for distance in rotations[number % 2]:
            x = x + y
            y = ((y << numpy.uint32(distance)) | (y >> numpy.uint32(32 - distance))) ^ x
        x = x + keys[(number + 1) % 3]
        y = y + keys[(number + 2) % 3] + numpy.uint32(number + 1)
    return [x, y]
