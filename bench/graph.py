"""A program under construction: values, the ops that make them, and its text as
linalg on tensors, in the forms in which PyTorch models are exported.

Like an exporter's program it has every pure op once: asking for the same op on the
same operands again gives the value that is there, located where it was first asked
for. Ops that nothing reads are not written.
"""

import struct


def tensor_type(shape, element):
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


def map_text(loops, dims):
    """dims: a loop's number per dimension, or None for dimensions of size 1."""
    left = ", ".join(f"d{i}" for i in range(loops))
    right = ", ".join("0" if d is None else f"d{d}" for d in dims)
    return f"affine_map<({left}) -> ({right})>"


class Value:
    """A tensor. `node` is its place in the traced graph, by which module tables name
    ports; `hasGradient` says that it depends on a parameter."""

    __slots__ = ("graph", "name", "shape", "element", "node", "hasGradient", "view")

    def __init__(self, graph, name, shape, element, node, hasGradient=False):
        self.graph, self.name, self.node = graph, name, node
        self.shape, self.element = tuple(shape), element
        self.hasGradient = hasGradient
        # What this is a reshape or a transpose of: ("transpose", source, permutation).
        self.view = None

    @property
    def type(self):
        return tensor_type(self.shape, self.element)


class TapeEntry:
    """How gradients of an op's results become gradients of its operands."""

    __slots__ = ("results", "operands", "vjp", "module")

    def __init__(self, results, operands, vjp, module):
        self.results, self.operands = results, operands
        self.vjp, self.module = vjp, module


class Graph:
    def __init__(self, element="f32"):
        self.element = element
        # What sums, statistics, softmax and the optimizer's state are kept in.
        self.wide = "f64" if element == "f64" else "f32"
        self.module = ""
        self.tape = []
        self.arguments, self.results, self.rows = [], [], []
        self._ops, self._known, self._recorded = [], {}, set()
        self._constants, self._maps, self._nodes = {}, {}, {}

    # Names.

    def node(self, base):
        """A new name in the traced graph, counted as torch counts."""
        count = self._nodes.get(base, 0)
        self._nodes[base] = count + 1
        return f"{base}_{count}" if count else base

    def inside(self, module):
        """with graph.inside("layers.0"): ops belong to that module."""
        return _Inside(self, module)

    def row(self, name, kind, inputs, outputs):
        """A row of the module table; ports are values."""
        self.rows.append((name, kind, [value.node for value in inputs],
                          [value.node for value in outputs]))

    # Ports.

    def argument(self, name, kind, shape, element):
        value = Value(self, f"%arg{len(self.arguments)}", shape, element, name,
                      kind == "parameter")
        self.arguments.append((value, kind, name))
        return value

    def result(self, value, kind, name):
        self.results.append((value, kind, name))

    # Ops.

    def constant(self, number, element):
        """A scalar constant's name, for bodies and fills."""
        if element in ("i1", "i64", "index"):
            text = {True: "true", False: "false"}.get(number, str(number)) \
                if element == "i1" else f"{number} : {element}"
        elif number == float("-inf"):
            bits = {"bf16": "0xFF80", "f32": "0xFF800000",
                    "f64": "0xFFF0000000000000"}[element]
            text = f"{bits} : {element}"
        else:
            if element != "f64":
                number = struct.unpack("<f", struct.pack("<f", number))[0]
            text = f"{number:.17e} : {element}"
        return self._constants.setdefault(text, f"%c{len(self._constants)}")

    def op(self, text, operands, shapes, node):
        """shapes: (shape, element) of every result. One value, or a list."""
        known = self._known.get(text)
        if known is None:
            name = f"%v{len(self._ops)}"
            names = [name] if len(shapes) == 1 else [
                f"{name}#{i}" for i in range(len(shapes))]
            has_gradient = any(value.hasGradient for value in operands)
            known = [Value(self, result, shape, element, node,
                           has_gradient and element[0] in "fb")
                     for result, (shape, element) in zip(names, shapes)]
            self._known[text] = known
            self._ops.append((name, len(shapes), text,
                              tuple(value.name.split("#")[0] for value in operands),
                              f'loc("{self.module}"("{node}"))'))
        return known[0] if len(shapes) == 1 else known

    def record(self, results, operands, vjp):
        """The op that was just asked for is differentiable."""
        isNew = results[0].name not in self._recorded
        if isNew and any(value.hasGradient for value in operands):
            self._recorded.add(results[0].name)
            self.tape.append(TapeEntry(results, operands, vjp, self.module))

    def empty(self, shape, element, node):
        return self.op("tensor.empty() : " + tensor_type(shape, element), (),
                       [(shape, element)], node)

    def fill(self, number, shape, element, node):
        init = self.empty(shape, element, node)
        return self.op(
            f"linalg.fill ins({self.constant(number, element)} : {element}) "
            f"outs({init.name} : {init.type}) -> {init.type}", (init,),
            [(shape, element)], node)

    def map(self, loops, dims):
        return self._maps.setdefault(map_text(loops, dims), f"#map{len(self._maps)}")

    def generic(self, node, loops, inputs, inits, body, reductions=(), captured=()):
        """inputs and inits: (value, dims); body: lines on %i0.. and %o0.. that end
        with what is yielded, such as "%p"."""
        ports = inputs + inits
        maps = ", ".join(self.map(loops, dims) for _, dims in ports)
        kinds = ", ".join('"reduction"' if i in reductions else '"parallel"'
                          for i in range(loops))
        *lines, last = body
        types = [value.type for value, _ in inits]
        elements = ", ".join(value.element for value, _ in inits)
        ins = ""
        if inputs:
            ins = (f" ins({', '.join(value.name for value, _ in inputs)} : "
                   f"{', '.join(value.type for value, _ in inputs)})")
        arguments = ", ".join(
            [f"%i{k}: {value.element}" for k, (value, _) in enumerate(inputs)] +
            [f"%o{k}: {value.element}" for k, (value, _) in enumerate(inits)])
        text = (f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}"
                f"{ins} outs({', '.join(value.name for value, _ in inits)} : "
                f"{', '.join(types)}) {{\n    ^bb0({arguments}):\n" +
                "".join(f"      {line}\n" for line in lines) +
                f"      linalg.yield {last} : {elements}\n    }} -> " +
                (types[0] if len(types) == 1 else f"({', '.join(types)})"))
        return self.op(text, [value for value, _ in ports] + list(captured),
                       [(value.shape, value.element) for value, _ in inits], node)

    # Text.

    def write(self, file, withTable=True):
        used = {value.name.split("#")[0] for value, *_ in self.results}
        lines = []
        for name, count, text, operands, location in reversed(self._ops):
            if name in used:
                used.update(operands)
                left = name if count == 1 else f"{name}:{count}"
                lines.append(f"    {left} = {text} {location}\n")
        lines.reverse()
        for text, name in self._maps.items():
            file.write(f"{name} = {text}\n")
        table = ", ".join(
            f'{{class = "{kind}", inputs = [{_quoted(inputs)}], name = "{name}", '
            f'outputs = [{_quoted(outputs)}]}}'
            for name, kind, inputs, outputs in self.rows)
        file.write(f"module attributes {{tp.modules = [{table}]}} {{\n"
                   if withTable else "module {\n")

        def ports(group, prefix):
            return ", ".join(
                f'{prefix(value)}{value.type} {{tp.kind = "{kind}", tp.name = "{name}"}}'
                for value, kind, name in group)

        file.write(f"  func.func @main({ports(self.arguments, lambda v: v.name + ': ')}) "
                   f"-> ({ports(self.results, lambda v: '')}) {{\n")
        for text, name in self._constants.items():
            file.write(f"    {name} = arith.constant {text}\n")
        file.writelines(lines)
        file.write(f"    return {', '.join(v.name for v, *_ in self.results)} : "
                   f"{', '.join(v.type for v, *_ in self.results)}\n  }}\n}}\n")


class _Inside:
    def __init__(self, graph, module):
        self.graph, self.module = graph, module

    def __enter__(self):
        self.outer, self.graph.module = self.graph.module, self.module

    def __exit__(self, *_):
        self.graph.module = self.outer


def _quoted(names):
    return ", ".join(f'"{name}"' for name in names)
