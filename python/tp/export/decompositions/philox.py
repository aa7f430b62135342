"""tp's random ops as elementwise ops of linalg: Philox 4x32-10 on the element's index.

The counter of an element is its index in the whole tensor (64 bits), the number of the op (32) and
the step (32); the key is the seed (64). The rounds are integer arithmetic on `linalg.index`, so
every rank computes the numbers of its own part, wherever that lies.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch_mlir import ir
from torch_mlir.dialects import arith, linalg, tensor
from torch_mlir.dialects import math as mlir_math

from .own_ops import Lowering, builtin_type, integer, real, to_builtin

_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)

Words = Sequence[ir.Value]


def _signless(width: int) -> ir.Type:
    return ir.IntegerType.get_signless(width)


def _number(kind: ir.Type, value: int) -> ir.Value:
    if isinstance(kind, ir.IntegerType):  # MLIR wants those of the sign bit below zero
        bits = kind.width
        value = (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    return arith.ConstantOp(kind, ir.IntegerAttr.get(kind, value)).result


def _float(kind: ir.Type, value: float) -> ir.Value:
    return arith.ConstantOp(kind, ir.FloatAttr.get(kind, value)).result


def _low(value: ir.Value) -> ir.Value:
    """The lower 32 bits of 64."""
    return arith.TruncIOp(_signless(32), value).result


def _high(value: ir.Value) -> ir.Value:
    """The upper 32 bits of 64."""
    shifted = arith.ShRUIOp(value, _number(_signless(64), 32)).result
    return arith.TruncIOp(_signless(32), shifted).result


def _shifted(value: ir.Value, bits: int) -> ir.Value:
    return arith.ShRUIOp(value, _number(value.type, bits)).result


def philox(counter: Words, key: Words) -> Words:
    """Four random words of four words and a key of two."""
    words, keys = list(counter), list(key)
    wide = _signless(64)
    for number in range(_ROUNDS):
        if number:
            keys = [arith.AddIOp(word, _number(_signless(32), step)).result
                    for word, step in zip(keys, _KEY_STEPS)]
        products = [arith.MulIOp(arith.ExtUIOp(wide, word).result,
                                 _number(wide, multiplier)).result
                    for word, multiplier in zip((words[0], words[2]), _MULTIPLIERS)]
        words = [
            arith.XOrIOp(arith.XOrIOp(_high(products[1]), words[1]).result, keys[0]).result,
            _low(products[1]),
            arith.XOrIOp(arith.XOrIOp(_high(products[0]), words[3]).result, keys[1]).result,
            _low(products[0])]
    return words


def _exact(word: ir.Value, bits: int, kind: ir.Type, above: int = 0) -> ir.Value:
    """The upper `bits` of a word, plus `above`, as a part of 2**bits: exact in the type."""
    part = _shifted(word, 32 - bits)
    if above:
        part = arith.AddIOp(part, _number(part.type, above)).result
    real_number = arith.SIToFPOp(kind, part).result
    return arith.MulFOp(real_number, _float(kind, 2.0 ** -bits)).result


def _exact_f64(words: Words, above: int = 0) -> ir.Value:
    """53 bits of two words as a part of 2**53."""
    wide, kind = _signless(64), ir.F64Type.get()
    upper = arith.ExtUIOp(wide, _shifted(words[0], 5)).result
    lower = arith.ExtUIOp(wide, _shifted(words[1], 6)).result
    part = arith.OrIOp(arith.ShLIOp(upper, _number(wide, 26)).result, lower).result
    if above:
        part = arith.AddIOp(part, _number(wide, above)).result
    return arith.MulFOp(arith.SIToFPOp(kind, part).result, _float(kind, 2.0 ** -53)).result


# Bits of a uniform number: as many as torch has, so that none is rounded up to 1.
_BITS = {"f32": 24, "f16": 11, "bf16": 8}


def uniform(words: Words, kind: ir.Type) -> ir.Value:
    """At least 0 and below 1."""
    if str(kind) == "f64":
        return _exact_f64(words)
    return _exact(words[0], _BITS[str(kind)], kind)


def normal(words: Words, kind: ir.Type) -> ir.Value:
    """Of mean 0 and variance 1, by Box and Muller."""
    if str(kind) == "f64":
        inner = kind
        length, turn = _exact_f64(words[:2], above=1), _exact_f64(words[2:])
    else:
        inner = ir.F32Type.get()
        length, turn = _exact(words[0], 24, inner, above=1), _exact(words[1], 24, inner)
    radius = mlir_math.SqrtOp(arith.MulFOp(
        mlir_math.LogOp(length).result, _float(inner, -2.0)).result).result
    angle = arith.MulFOp(turn, _float(inner, 2 * math.pi)).result
    result = arith.MulFOp(radius, mlir_math.CosOp(angle).result).result
    return result if inner == kind else arith.TruncFOp(kind, result).result


def _keep(words: Words, probability: float) -> ir.Value:
    wide = _signless(64)
    below = _number(wide, round(probability * 2**32))
    return arith.CmpIOp(arith.CmpIPredicate.ult, arith.ExtUIOp(wide, words[0]).result, below).result


def _integers(words: Words, low: int, high: int) -> ir.Value:
    wide = _signless(64)
    scaled = arith.MulIOp(arith.ExtUIOp(wide, words[0]).result, _number(wide, high - low)).result
    return arith.AddIOp(_shifted(scaled, 32), _number(wide, low)).result


# The number of an element, of its words, of the op's own operands and of its type.
_Meaning = Callable[[Words, Sequence[ir.Value], ir.Type], ir.Value]
_MEANINGS: dict[str, _Meaning] = {
    "random_uniform_of": lambda words, own, kind: uniform(words, kind),
    "random_normal_of": lambda words, own, kind: normal(words, kind),
    "random_keep_of": lambda words, own, kind: _keep(words, real(own[0])),
    "random_integers_of": lambda words, own, kind: _integers(words, integer(own[0]),
                                                             integer(own[1])),
}


def _index(shape: Sequence[int]) -> ir.Value:
    """The index of the element that a body computes, row-major, in 64 bits."""
    index: ir.Value | None = None
    for dim, size in enumerate(shape):
        place = linalg.IndexOp(dim).result
        if index is not None:
            rows = arith.MulIOp(index, _number(ir.IndexType.get(), size)).result
            place = arith.AddIOp(rows, place).result
        index = place
    if index is None:
        return _number(_signless(64), 0)
    return arith.IndexCastOp(_signless(64), index).result


def _elementwise(result: ir.RankedTensorType, inputs: Sequence[ir.Value],
                 body: Callable[[Sequence[ir.Value]], ir.Value]) -> ir.Value:
    """An op over the result's elements that reads scalars."""
    empty = tensor.EmptyOp(result.shape, result.element_type).result
    rank = result.rank
    scalar = ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, []))
    same = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
    op = linalg.GenericOp(
        [result], list(inputs), [empty], ir.ArrayAttr.get([scalar] * len(inputs) + [same]),
        ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * rank))
    block = op.regions[0].blocks.append(
        *[ir.RankedTensorType(value.type).element_type for value in inputs], result.element_type)
    with ir.InsertionPoint(block):
        linalg.YieldOp([body(list(block.arguments))])
    value: ir.Value = op.results[0]
    return value


def _scalars(state: ir.Value) -> Sequence[ir.Value]:
    """Seed and step of the state, as tensors of one element."""
    whole = to_builtin(state)
    scalar = ir.RankedTensorType.get([], _signless(64))
    return [tensor.ExtractSliceOp(scalar, whole, [], [], [], [place], [1], [1]).result
            for place in (0, 1)]


class _Lowering:
    """Lowers the ops of one name. What they read of the state is read once, before all layers."""

    def __init__(self, meaning: _Meaning) -> None:
        self._meaning = meaning

    def __call__(self, ops: Sequence[ir.Operation]) -> None:
        for op in ops:
            state = op.operands[0]
            with ir.InsertionPoint.at_block_begin(state.owner), op.location:
                seed, step = _scalars(state)
            with ir.InsertionPoint(op), op.location:
                self._lower(op, seed, step)
            op.erase()

    def _lower(self, op: ir.Operation, seed: ir.Value, step: ir.Value) -> None:
        result = builtin_type(op.results[0].type)
        number = integer(op.operands[1])

        def body(operands: Sequence[ir.Value]) -> ir.Value:
            index = _index(result.shape)
            counter = [_low(index), _high(index), _number(_signless(32), number),
                       _low(operands[1])]
            words = philox(counter, [_low(operands[0]), _high(operands[0])])
            return self._meaning(words, list(op.operands)[3:], result.element_type)
        value = _elementwise(result, [seed, step], body)
        op.results[0].replace_all_uses_with(_to_torch(value, op.results[0].type))


def _to_torch(value: ir.Value, kind: ir.Type) -> ir.Value:
    return ir.Operation.create("torch_c.from_builtin_tensor", [kind], [value]).result


def _lower_next(ops: Sequence[ir.Operation]) -> None:
    """The state of the next step: seed and step + 1."""
    for op in ops:
        with ir.InsertionPoint(op), op.location:
            kind = builtin_type(op.results[0].type)
            empty = tensor.EmptyOp(kind.shape, kind.element_type).result
            same = ir.AffineMapAttr.get(ir.AffineMap.get_identity(1))
            add = linalg.GenericOp(
                [kind], [to_builtin(op.operands[0])], [empty], ir.ArrayAttr.get([same, same]),
                ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")]))
            block = add.regions[0].blocks.append(kind.element_type, kind.element_type)
            with ir.InsertionPoint(block):
                place = arith.IndexCastOp(_signless(64), linalg.IndexOp(0).result).result
                linalg.YieldOp([arith.AddIOp(block.arguments[0], place).result])
            op.results[0].replace_all_uses_with(_to_torch(add.results[0], op.results[0].type))
        op.erase()


LOWERINGS: dict[str, Lowering] = {
    **{name: _Lowering(meaning) for name, meaning in _MEANINGS.items()},
    "random_next": _lower_next}
