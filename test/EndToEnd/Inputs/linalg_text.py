"""The text of a function of linalg ops on tensors, written one op after the other."""

import math


class Tensor:
    def __init__(self, name, shape, element):
        self.name, self.shape, self.element = name, tuple(shape), element

    @property
    def type(self):
        return "tensor<" + "".join(f"{n}x" for n in self.shape) + self.element + ">"


class Program:
    """Text of @main, one op after the other."""

    def __init__(self):
        self.arguments, self.lines, self.count = [], [], 0

    def fresh(self):
        self.count += 1
        return f"%{self.count}"

    def argument(self, name, shape, element):
        tensor = Tensor("%" + name, shape, element)
        self.arguments.append((name, tensor))
        return tensor

    def op(self, text, shape, element):
        result = Tensor(self.fresh(), shape, element)
        self.lines.append(f"    {result.name} = {text}")
        return result

    def scalar(self, number, element):
        spelling = repr(number)
        if number in (math.inf, -math.inf):
            spelling = {"f64": "0x7FF0000000000000", "f32": "0x7F800000",
                        "bf16": "0x7F80", "f16": "0x7C00"}[element]
            if number < 0:
                spelling = "0xF" + spelling[3:]
        return self.op(f"arith.constant {spelling} : {element}", (), element).name

    def init(self, shape, element, number=None):
        empty = Tensor("", shape, element)
        empty = self.op(f"tensor.empty() : {empty.type}", shape, element)
        if number is None:
            return empty
        scalar = self.scalar(number, element)
        return self.op(f"linalg.fill ins({scalar} : {element}) outs({empty.name} : "
                       f"{empty.type}) -> {empty.type}", shape, element)

    def generic(self, maps, iterators, inputs, inits, body, yielded):
        """`body` names its block arguments %a0, %a1, ... and what it makes %b0, ..."""
        loops = ", ".join(f"d{i}" for i in range(len(iterators)))
        maps = ", ".join(f"affine_map<({loops}) -> ({m})>" for m in maps)
        iterators = ", ".join(f'"{i}"' for i in iterators)
        types = ", ".join(t.type for t in inits)
        names = [self.fresh() for _ in inits]
        if inputs:
            ins = "ins(" + ", ".join(t.name for t in inputs) + " : " + ", ".join(
                t.type for t in inputs) + ") "
        else:
            ins = ""
        arguments = ", ".join(f"%a{i}: {t.element}"
                              for i, t in enumerate(inputs + inits))
        head = f"{names[0]}" if len(inits) == 1 else f"{names[0]}:{len(inits)}"
        self.lines += [
            f"    {head} = linalg.generic {{indexing_maps = [{maps}], iterator_types = "
            f"[{iterators}]}} {ins}outs({', '.join(t.name for t in inits)} : {types}) {{",
            f"    ^bb0({arguments}):"]
        self.lines += [f"      {line}" for line in body]
        self.lines += [
            f"      linalg.yield {', '.join(yielded)} : "
            f"{', '.join(t.element for t in inits)}",
            f"    }} -> {types if len(inits) == 1 else '(' + types + ')'}"]
        suffix = "" if len(inits) == 1 else "#0"
        return Tensor(names[0] + suffix, inits[0].shape, inits[0].element)

    def elementwise(self, body, *inputs, element=None):
        """Broadcasts as torch does: from the last dimension, and those of size 1."""
        rank = max(len(t.shape) for t in inputs)
        shape = [1] * rank
        for tensor in inputs:
            for i, size in enumerate(tensor.shape):
                d = rank - len(tensor.shape) + i
                shape[d] = max(shape[d], size)
        maps = []
        for tensor in inputs:
            first = rank - len(tensor.shape)
            maps.append(", ".join(
                f"d{first + i}" if size == shape[first + i] else "0"
                for i, size in enumerate(tensor.shape)))
        maps.append(", ".join(f"d{i}" for i in range(rank)))
        out = self.init(shape, element or inputs[0].element)
        body = [body] if isinstance(body, str) else body
        return self.generic(maps, ["parallel"] * rank, list(inputs), [out], body,
                            [body[-1].split(" = ")[0]])

    def reduce(self, combiner, tensor, dims, keep=False, number=0.0):
        shape = [size if d not in dims else 1 for d, size in enumerate(tensor.shape)
                 if keep or d not in dims]
        source = ", ".join(f"d{d}" for d in range(len(tensor.shape)))
        target = ", ".join(f"d{d}" if d not in dims else "0"
                           for d in range(len(tensor.shape)) if keep or d not in dims)
        iterators = ["reduction" if d in dims else "parallel"
                     for d in range(len(tensor.shape))]
        if tensor.element == "bf16" and combiner == "arith.addf":
            # 256 and 1 are 256 in bf16, so sums have a wider accumulator.
            init = self.init(shape, "f32", number)
            total = self.generic([source, target], iterators, [tensor], [init],
                                 ["%b0 = arith.extf %a0 : bf16 to f32",
                                  "%b1 = arith.addf %b0, %a1 : f32"], ["%b1"])
            return self.elementwise("%b0 = arith.truncf %a0 : f32 to bf16", total,
                                    element="bf16")
        init = self.init(shape, tensor.element, number)
        return self.generic([source, target], iterators, [tensor], [init],
                            [f"%b0 = {combiner} %a0, %a1 : {tensor.element}"], ["%b0"])

    def reshape(self, tensor, shape, groups):
        collapses = len(shape) < len(tensor.shape)
        target = Tensor("", shape, tensor.element)
        sizes = "" if collapses else f" output_shape {list(shape)}"
        return self.op(f"tensor.{'collapse' if collapses else 'expand'}_shape "
                       f"{tensor.name} {groups}{sizes} : {tensor.type} into "
                       f"{target.type}", shape, tensor.element)

    def slice(self, tensor, offsets, shape):
        target = Tensor("", shape, tensor.element)
        return self.op(f"tensor.extract_slice {tensor.name}{offsets} {list(shape)} "
                       f"{[1] * len(shape)} : {tensor.type} to {target.type}",
                       shape, tensor.element)

    def text(self, results):
        arguments = ", ".join(f'{t.name}: {t.type} {{tp.name = "{name}"}}'
                              for name, t in self.arguments)
        names = ("loss", "gradient")
        types = ", ".join(f'{t.type} {{tp.name = "{name}"}}'
                          for name, t in zip(names, results))
        lines = [f"func.func @main({arguments}) -> ({types}) {{"] + self.lines
        lines.append(f"    return {', '.join(t.name for t in results)} : "
                     f"{', '.join(t.type for t in results)}")
        return "\n".join(lines + ["}"]) + "\n"
