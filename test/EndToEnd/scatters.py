"""Programs that write at places in data, against the definition: one write after the other.

    scatters.py FOLDER FAKES INPUTS
"""
from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Sequence

sys.path.insert(0, sys.argv[3])
from on_ranks import Programs

PROGRAMS = Programs(*sys.argv[1:3])
# What an iteration does with the update and what is there, and its definition.
SUM = ("%z = arith.constant -0.0 : f32\n    %w = arith.select %here, %update, %z : f32\n"
       "    %new = arith.addf %old, %w : f32", lambda old, update: old + update)
PLAIN_SUM = (SUM[0].replace("-0.0", "0.0"), SUM[1])
LAST = ("%new = arith.select %here, %update, %old : f32", lambda old, update: update)


def tensor(shape: Sequence[int], element: str = "f32") -> str:
    return "tensor<" + "".join(f"{n}x" for n in shape) + element + ">"


def bits(numbers: Sequence[float]) -> list[int]:
    return [struct.unpack("<i", struct.pack("<f", number))[0] for number in numbers]


def numbers(count: int, seed: int) -> list[float]:
    """Whole numbers, some of which are -0.0 or NaN."""
    return [math.nan if (i * seed) % 61 == 7 else -0.0 if (i * seed) % 5 == 1
            else float((i * seed) % 23 - 11) for i in range(count)]


def check(name: str, shape: tuple[int, ...], update_shape: tuple[int, ...],
          places: Sequence[Sequence[int]], place_shape: tuple[int, ...], maps: Sequence[str],
          conditions: Sequence[int], body: tuple[str, Callable[[float, float], float]],
          written: Callable[[int], Sequence[tuple[int, int]]], element: str = "i64",
          pins: dict[str, int] | None = None, begin: float | None = None) -> None:
    """`places`: the numbers of each tensor of places, which the loop of that number in `conditions`
    is compared with. `maps`: of places, updates and the result. `written`: the element and the
    update of each write of a step over the writes."""
    pins = pins or {}

    def port(name: str) -> str:
        pin = f", tp.pin = {{tp = #tp.placement<shard<{pins[name]}>>}}" if name in pins else ""
        return f'{{tp.name = "{name}", tp.kind = "user_input"{pin}}}'
    count = math.prod(shape)
    old, updates = numbers(count, 7), numbers(math.prod(update_shape), 3)
    if begin is not None:
        old = [begin] * count
    loops = maps[0].split("->")[0].count("d")
    start, outs = "", "%x"
    if begin is not None:
        start = (f"%b = arith.constant {begin} : f32\n  %e = tensor.empty() : {tensor(shape)}\n"
                 f"  %f = linalg.fill ins(%b : f32) outs(%e : {tensor(shape)}) -> {tensor(shape)}")
        outs = "%f"
    indices = [f"%i{number}" for number in range(len(places))]
    index_type = tensor(place_shape, element)
    arguments = ", ".join(f"{index}: {index_type} {port(index[1:])}" for index in indices)
    tests = "\n".join(
        f"    %l{i} = linalg.index {loop} : index\n"
        f"    %c{i} = arith.index_cast %l{i} : index to {element}\n"
        f"    %h{i} = arith.cmpi eq, %c{i}, %at{i} : {element}"
        for i, loop in enumerate(conditions))
    here = "%h0" if len(places) == 1 else "%here"
    both = "" if len(places) == 1 else "\n    %here = arith.andi %h0, %h1 : i1"
    kinds = ", ".join(['"parallel"'] * len(shape) + ['"reduction"'] * (loops - len(shape)))
    text = f"""
#mesh = #tp.mesh<"tp" = RANKS>
module attributes {{tp.mesh = #mesh}} {{
func.func @main({arguments}, %u: {tensor(update_shape)} {port("u")}, %x: {tensor(shape)} {port("x")})
    -> ({tensor(shape, "i32")} {{tp.name = "y"}}) {{
  {start}
  %s = linalg.generic {{indexing_maps = [{", ".join(f"affine_map<{m}>" for m in maps)}],
      iterator_types = [{kinds}]}} ins({", ".join(indices)}, %u : {", ".join([index_type] * len(places))}, {tensor(update_shape)}) outs({outs} : {tensor(shape)}) {{
  ^bb0({", ".join(f"%at{i}: {element}" for i in range(len(places)))}, %update: f32, %old: f32):
{tests}{both}
    {body[0].replace("%here", here)}
    linalg.yield %new : f32
  }} -> {tensor(shape)}
  %o = tensor.empty() : {tensor(shape, "i32")}
  %y = linalg.generic {{indexing_maps = [affine_map<({", ".join(f"d{i}" for i in range(len(shape)))}) -> ({", ".join(f"d{i}" for i in range(len(shape)))})>, affine_map<({", ".join(f"d{i}" for i in range(len(shape)))}) -> ({", ".join(f"d{i}" for i in range(len(shape)))})>],
      iterator_types = [{", ".join(['"parallel"'] * len(shape))}]}} ins(%s : {tensor(shape)}) outs(%o : {tensor(shape, "i32")}) {{
  ^bb0(%a: f32, %b0: i32):
    %c = arith.bitcast %a : f32 to i32
    linalg.yield %c : i32
  }} -> {tensor(shape, "i32")}
  return %y : {tensor(shape, "i32")}
}}
}}"""
    result = list(old)
    for step in range(math.prod(place_shape)):
        for place, update in written(step):
            result[place] = body[1](result[place], updates[update])
    inputs = {index[1:]: (element, place_shape, list(at)) for index, at in zip(indices, places)}
    inputs |= {"u": ("f32", update_shape, updates), "x": ("f32", shape, old)}
    # The simulator's random sums round differently when writes are sharded, which bits show.
    PROGRAMS.check(name, text, inputs,
                   {"y": ("i32", shape, bits(result))}, verify=False)


V, D, T = 97, 6, 70
# Some rows often, some never, some outside.
TOKENS = [(i * i * 31) % 113 - 8 for i in range(T)]
ROWS = ["(d0, d1, d2) -> (d2)", "(d0, d1, d2) -> (d2, d1)", "(d0, d1, d2) -> (d0, d1)"]


def rows(tokens: Sequence[int], size: int, width: int) -> Callable[[int], list[tuple[int, int]]]:
    return lambda t: [(tokens[t] * width + d, t * width + d) for d in range(width)
                      if 0 <= tokens[t] < size]


WRITES, PLACES, COLUMNS = {"i0": 0, "u": 0}, {"x": 0}, {"x": 1, "u": 1}
for text, body, begin, shardings in (
        ("sum", SUM, None, {"whole": {}, "writes sharded": WRITES, "places sharded": PLACES,
                            "columns sharded": COLUMNS}),
        ("last", LAST, None, {"whole": {}, "places sharded": PLACES, "columns sharded": COLUMNS}),
        ("sum from 0.0", PLAIN_SUM, 0.0, {"whole": {}, "writes sharded": WRITES,
                                          "places sharded": PLACES})):
    for how, pins in shardings.items():
        check(f"{text}, {how}", (V, D), (T, D), [TOKENS], (T,), ROWS, [0], body,
              rows(TOKENS, V, D), "i32" if body is LAST else "i64", pins, begin)
check("no writes", (V, D), (0, D), [[]], (0,), ROWS, [0], SUM, rows([], V, D))

# x[i, j] = u
I, J = [(i * 7) % 12 for i in range(T)], [(i * i) % 11 - 1 for i in range(T)]
for text, pins in (("two places", {}), ("two places, rows sharded", {"x": 0})):
    check(text, (12, 10), (T,), [I, J], (T,),
          ["(d0, d1, d2) -> (d2)"] * 3 + ["(d0, d1, d2) -> (d0, d1)"], [0, 1], LAST,
          lambda t: [(I[t] * 10 + J[t], t)] if 0 <= J[t] < 10 else [], pins=pins)

# x[b, i[b, t]] += u[b, t]
B = 3
AT = [(i * i * 5) % 50 - 2 for i in range(B * T)]
for text, pins in (("places of each row", {}), ("places of each row, columns sharded", {"x": 1})):
    check(text, (B, 41), (B, T), [AT], (B, T), ["(d0, d1, d2) -> (d0, d2)"] * 2
          + ["(d0, d1, d2) -> (d0, d1)"], [1], SUM,
          lambda n: [(n // T * 41 + AT[n], n)] if 0 <= AT[n] < 41 else [], pins=pins)

# Enough for a device to scatter.
MANY = [(i * i * 31) % 5000 for i in range(T)]
for text, pins in (("many places", {}), ("many places, sharded", PLACES)):
    check(text, (4100, 16), (T, 16), [MANY], (T,), ROWS, [0], SUM, rows(MANY, 4100, 16), pins=pins)
PROGRAMS.finish()
