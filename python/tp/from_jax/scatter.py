"""stablehlo.scatter as linalg.generic, for which jaxlib's lowering has no form.

Every element of the result asks each update, in order, whether it writes there. A sum, product,
minimum or maximum is one reduction over the updates, so that they may be sharded as well as the
dimensions of the result. Windows that leave the operand write nothing, as in XLA.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# The scalar op of the region: its form for floats, signed and unsigned integers, and its neutral
# element.
_COMBINERS = {
    "stablehlo.add": ("arith.addf", "arith.addi", "arith.addi", "negative zero"),
    "stablehlo.subtract": ("arith.subf", "arith.subi", "arith.subi", "zero"),
    "stablehlo.multiply": ("arith.mulf", "arith.muli", "arith.muli", "one"),
    "stablehlo.minimum": ("arith.minimumf", "arith.minsi", "arith.minui", "most"),
    "stablehlo.maximum": ("arith.maximumf", "arith.maxsi", "arith.maxui", "least"),
    "stablehlo.and": ("", "arith.andi", "arith.andi", "ones"),
    "stablehlo.or": ("", "arith.ori", "arith.ori", "zero"),
}
# Of booleans, where a sum is no number.
_OF_BOOLEANS = {"stablehlo.add": "arith.ori", "stablehlo.maximum": "arith.ori",
                "stablehlo.or": "arith.ori", "stablehlo.multiply": "arith.andi",
                "stablehlo.minimum": "arith.andi", "stablehlo.and": "arith.andi"}
_INFINITY = {"bf16": "0x7F80", "f16": "0x7C00", "f32": "0x7F800000", "f64": "0x7FF0000000000000"}
_MINUS_INFINITY = {"bf16": "0xFF80", "f16": "0xFC00", "f32": "0xFF800000",
                   "f64": "0xFFF0000000000000"}


class Unsupported(Exception):
    """A scatter that has no form here; the text says why, and what to write instead."""


@dataclass
class _Element:
    """The element type of the operand: signless as in linalg, and whether it is unsigned."""
    name: str
    unsigned: bool

    @property
    def is_float(self) -> bool:
        return self.name.startswith(("f", "bf"))

    def neutral(self, kind: str) -> str:
        """The literal of a neutral element."""
        if self.is_float:
            special = {"most": _INFINITY, "least": _MINUS_INFINITY}.get(kind)
            if special is None:
                # Adding 0.0 would make 0.0 of -0.0.
                return {"one": "1.0", "negative zero": "-0.0"}.get(kind, "0.0")
            if self.name not in special:
                raise Unsupported(f"a minimum or maximum of {self.name}: convert the operand "
                                  "to f32")
            return special[self.name]
        bits = int(self.name[1:])
        if bits == 1:
            return "true" if kind in ("one", "ones", "most") else "false"
        values = {"zero": 0, "negative zero": 0, "one": 1, "ones": -1,
                  "most": -1 if self.unsigned else (1 << (bits - 1)) - 1,
                  "least": 0 if self.unsigned else -(1 << (bits - 1))}
        return str(values[kind])


class _Scatter:
    """A scatter of one operand: its dimension numbers, and the loops that it becomes.

    The loops are the dimensions of the result, then one per dimension of the updates that counts
    them, then one per window that covers a part of a dimension.
    """

    def __init__(self, op: Any) -> None:
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import stablehlo
        if len(op.results) != 1:
            raise Unsupported("a scatter of several arrays: scatter each by its own call")
        self.op = op
        self.types = [ir.RankedTensorType(operand.type) for operand in op.operands]
        numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
        self.shape, self.index_shape, self.update_shape = (list(t.shape) for t in self.types)
        self.dims_of_index = list(numbers.scattered_dims_to_operand_dims)
        self.vector_dim = numbers.index_vector_dim
        batching = dict(zip(numbers.scatter_indices_batching_dims, numbers.input_batching_dims))
        # The loop over each dimension of the updates; None: a window of one element.
        window_dims = list(numbers.update_window_dims)
        left = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
        windows = iter(d for d in range(len(self.shape)) if d not in left)
        index_dims = iter(d for d in range(len(self.index_shape)) if d != self.vector_dim)
        self.loops = list(self.shape)
        self.update_loops: list[int | None] = []
        self.index_loops: dict[int, int] = {}
        # Of windows: the extent along each dimension of the result, and the loop over a part of it.
        self.extents = [1] * len(self.shape)
        self.parts: dict[int, int] = {}
        for dim, extent in enumerate(self.update_shape):
            if dim in window_dims:
                self.update_loops.append(self._window(next(windows), extent))
                continue
            index_dim = next(index_dims)
            loop = batching.get(index_dim)
            if loop is None:
                loop = len(self.loops)
                self.loops.append(extent)
            self.index_loops[index_dim] = loop
            self.update_loops.append(loop)

    def _window(self, dim: int, extent: int) -> int | None:
        self.extents[dim] = extent
        if extent == self.shape[dim]:
            return dim
        if extent == 1 and dim in self.dims_of_index:
            return None
        self.parts[dim] = len(self.loops)
        self.loops.append(extent)
        return self.parts[dim]

    def function(self, name: str) -> str:
        """A private function of the operand, the indices and the updates."""
        element = _element(self.types[0])
        operand, updates = (f"tensor<{'x'.join(map(str, [*t.shape, element.name]))}>"
                            for t in (self.types[0], self.types[2]))
        indices = str(self.types[1])
        rank, loops = len(self.shape), [f"d{i}" for i in range(len(self.loops))]

        def affine(results: list[str]) -> str:
            return f"affine_map<({', '.join(loops)}) -> ({', '.join(results)})>"
        columns = range(len(self.dims_of_index))
        maps = [affine([str(column) if dim == self.vector_dim else loops[self.index_loops[dim]]
                        for dim in range(len(self.index_shape))]) for column in columns]
        maps.append(affine(["0" if loop is None else loops[loop] for loop in self.update_loops]))
        maps.append(affine(loops[:rank]))
        iterators = ['"parallel"'] * rank + ['"reduction"'] * (len(loops) - rank)
        index = self.types[1].element_type
        arguments = [*(f"%i{column}: {index}" for column in columns),
                     f"%update: {element.name}", f"%old: {element.name}"]
        reads = ", ".join(["%indices"] * len(columns) + ["%updates"])
        read_types = ", ".join([indices] * len(columns) + [updates])
        return "\n".join([
            f"func.func private @{name}(%operand: {operand}, %indices: {indices}, "
            f"%updates: {updates}) -> {operand} {{",
            f"%result = linalg.generic {{indexing_maps = [{', '.join(maps)}], "
            f"iterator_types = [{', '.join(iterators)}]}} ins({reads} : {read_types}) "
            f"outs(%operand : {operand}) {{",
            f"^bb0({', '.join(arguments)}):", *self._body(element),
            f"}} -> {operand}", f"return %result : {operand}", "}"])

    def _body(self, element: _Element) -> list[str]:
        lines: list[str] = []
        tests: list[str] = []

        def add(text: str) -> str:
            lines.append(f"%v{len(lines)} = {text}")
            return f"%v{len(lines) - 1}"

        def test(predicate: str, a: str, b: str) -> None:
            tests.append(add(f"arith.cmpi {predicate}, {a}, {b} : index"))
        begins = {dim: add(f"arith.index_cast %i{column} : {self.types[1].element_type} to index")
                  for column, dim in enumerate(self.dims_of_index)}
        for dim, begin in begins.items():
            if self.extents[dim] == self.shape[dim]:
                test("eq", begin, add("arith.constant 0 : index"))
            elif self.extents[dim] == 1:
                test("eq", begin, add(f"linalg.index {dim} : index"))
            else:  # a negative place is beyond the end of unsigned numbers
                last = self.shape[dim] - self.extents[dim]
                test("ule", begin, add(f"arith.constant {last} : index"))
        for dim, loop in self.parts.items():
            at = add(f"linalg.index {loop} : index")
            if dim in begins:
                at = add(f"arith.addi {begins[dim]}, {at} : index")
            test("eq", at, add(f"linalg.index {dim} : index"))
        here = tests[0] if tests else add("arith.constant true")
        for other in tests[1:]:
            here = add(f"arith.andi {here}, {other} : i1")
        combiner, kind = _combiner(self.op, element)
        kept, taken = "%old", "%update"
        if combiner:
            kept = add(f"arith.constant {element.neutral(kind)}"
                       + ("" if element.name == "i1" else f" : {element.name}"))
        value = add(f"arith.select {here}, {taken}, {kept} : {element.name}")
        if combiner:
            value = add(f"{combiner} %old, {value} : {element.name}")
        return [*lines, f"linalg.yield {value} : {element.name}"]


def _element(type: Any) -> _Element:
    name = str(type.element_type)
    if name.startswith("complex"):
        raise Unsupported("a scatter of complex numbers: scatter the real and the imaginary part")
    return _Element(name.removeprefix("u"), name.startswith("u"))


def _combiner(op: Any, element: _Element) -> tuple[str, str]:
    """The scalar op of the region and its neutral element; no op where updates are written."""
    block = op.regions[0].blocks[0]
    ops = list(block.operations)
    old, update = block.arguments
    returned = ops[-1].operands[0]
    if len(ops) == 1 and returned == update:
        return "", ""
    if len(ops) == 2 and returned == ops[0].results[0] and ops[0].operation.name in _COMBINERS:
        of_floats, signed, unsigned, kind = _COMBINERS[ops[0].operation.name]
        name = of_floats if element.is_float else unsigned if element.unsigned else signed
        if element.name == "i1":
            name = _OF_BOOLEANS.get(ops[0].operation.name, "")
        if list(ops[0].operands) == [old, update] and name:
            return name, kind
    raise Unsupported("a scatter by a function of its own: write .set, .add, .multiply, .min or "
                      ".max of what x[i] is computed to")


def replace_scatter(op: Any, module: Any, number: int) -> None:
    """Writes the scatter as a call of a new private function of linalg, which is to be inlined.
    Raises Unsupported."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func, stablehlo
    scatter = _Scatter(op)
    name = f"tp_scatter_{number}"
    operands = list(op.operands)
    result = op.results[0].type
    with ir.InsertionPoint(op), op.location:
        if str(scatter.types[1].element_type).startswith("u"):
            wide = ir.RankedTensorType.get(scatter.index_shape, ir.IntegerType.get_signless(64))
            operands[1] = stablehlo.convert(wide, operands[1])
            scatter.types[1] = wide
        signless = ir.Type.parse(_element(scatter.types[0]).name)
        if signless != scatter.types[0].element_type:
            for i in (0, 2):
                operands[i] = stablehlo.bitcast_convert(
                    ir.RankedTensorType.get(scatter.types[i].shape, signless), operands[i])
        made = ir.RankedTensorType.get(scatter.shape, signless)
        function = ir.Operation.parse(scatter.function(name))
        module.body.append(function)
        call = func.CallOp([made], ir.FlatSymbolRefAttr.get(name), operands)
        value = call.results[0]
        if made != result:
            value = stablehlo.bitcast_convert(result, value)
    op.results[0].replace_all_uses_with(value)
    op.erase()
