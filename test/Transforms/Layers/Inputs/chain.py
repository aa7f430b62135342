"""A chain of layers with gradients and updated parameters, as text:

    chain.py LAYERS [--different=LAYER] [--shuffle=SEED] [--skip]

Layer i takes x and gives x * w[i] + b; backward g gives g * w[i], and the new w[i] is
w[i] - rate * g * x. --different: one layer subtracts b. --shuffle: ops in another order,
each after what it takes. --skip: each layer takes the x of the layer before the last,
too.
"""
import argparse
import random

TYPE = "tensor<4xf32>"
ID = "affine_map<(d0) -> (d0)>"


class Chain:
    def __init__(self):
        self.ops = []

    def generic(self, name, inputs, body, location):
        arguments = ", ".join(f"%a{i}: f32" for i in range(len(inputs)))
        self.ops.append((name, inputs, (
            f"  %e_{name} = tensor.empty() : {TYPE} loc({location})\n"
            f"  %{name} = linalg.generic {{indexing_maps = [{', '.join([ID] * (len(inputs) + 1))}], "
            f"iterator_types = [\"parallel\"]}} ins({', '.join('%' + i for i in inputs)} : "
            f"{', '.join([TYPE] * len(inputs))}) outs(%e_{name} : {TYPE}) {{\n"
            f"  ^bb0({arguments}, %out: f32):\n"
            + "".join(f"    {line}\n" for line in body) +
            f"  }} -> {TYPE} loc({location})\n")))
        return name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("layers", type=int)
    parser.add_argument("--different", type=int)
    parser.add_argument("--shuffle", type=int)
    parser.add_argument("--skip", action="store_true")
    options = parser.parse_args()
    chain, layers = Chain(), range(options.layers)
    xs = ["x"]
    for i in layers:
        inputs = [xs[-1], f"w{i}", "b"]
        body = ["%m = arith.mulf %a0, %a1 : f32",
                f"%s = arith.{'subf' if i == options.different else 'addf'} %m, %a2 : f32"]
        if options.skip:
            inputs.append(xs[-2] if i else "x")
            body.append("%t = arith.addf %s, %a3 : f32")
        body.append(f"linalg.yield %{'t' if options.skip else 's'} : f32")
        xs.append(chain.generic(f"x{i}", inputs, body, f'"h.{i}"("mul_{i}")'))
    g = xs[-1]
    for i in reversed(layers):
        chain.generic(f"new{i}", [f"w{i}", g, xs[i], "rate"], [
            "%m = arith.mulf %a1, %a2 : f32", "%r = arith.mulf %m, %a3 : f32",
            "%s = arith.subf %a0, %r : f32", "linalg.yield %s : f32"],
            f'"h.{i}"("update_{i}")')
        g = chain.generic(f"g{i}", [g, f"w{i}"], [
            "%m = arith.mulf %a0, %a1 : f32", "linalg.yield %m : f32"],
            f'"h.{i}"("grad_{i}")')
    ops = chain.ops
    if options.shuffle is not None:
        rng, done, left, ops = random.Random(options.shuffle), set(), chain.ops, []
        made = {op[0] for op in left}
        while left:
            op = rng.choice([op for op in left if all(i in done or i not in made for i in op[1])])
            left = [other for other in left if other is not op]
            done.add(op[0])
            ops.append(op)
    named = [("x", "x"), ("b", "bias"), ("rate", "rate")]
    named += [(f"w{i}", f"h.{i}.w") for i in layers]
    arguments = ", ".join(f'%{a}: {TYPE} {{tp.name = "{n}"}}' for a, n in named)
    results = [g] + [f"new{i}" for i in layers]
    names = ["g"] + [f"new.h.{i}.w" for i in layers]
    types = ", ".join(f'{TYPE} {{tp.name = "{n}"}}' for n in names)
    print(f"func.func @main({arguments}) -> ({types}) {{")
    print("".join(op[2] for op in ops), end="")
    print(f"  return {', '.join('%' + r for r in results)} : {', '.join([TYPE] * len(results))}")
    print("}")


if __name__ == "__main__":
    main()
