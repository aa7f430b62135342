"""Many ops on the same columns of inputs, as one program."""

from element_formats import ELEMENTS, FORMATS


class Program:
    """Ops on tensors of the same columns of inputs."""

    def __init__(self, name, element, inputs, ops):
        self.name, self.element, self.inputs, self.ops = name, element, inputs, ops


def model(program, ranks):
    count = len(program.inputs[0])
    types = {name: f"tensor<{count}x{name}>" for name in ELEMENTS}
    types["t"] = types[program.element]
    pin = ', tp.pin = {tp = #tp.placement<shard<0>>}' if ranks > 1 else ""
    arguments = ", ".join(f'%{name}: {types["t"]} {{tp.name = "{name}"{pin}}}' for name in "abc")
    compare = "cmpf ogt" if program.element in FORMATS else "cmpi ugt"
    lines, results = [], []
    if any("%s," in op.text for op in program.ops):
        lines.append(f"  %s = arith.{compare}, %a, %b : {types['t']}")
    if any(op.infinity for op in program.ops):
        types["rows"] = f"tensor<3x{count}x{program.element}>"
        types["columns"] = f"tensor<{count}x3x{program.element}>"
        row = f"tensor<1x{count}x{program.element}>"
        lines += [f"  %{name}0 = tensor.expand_shape %{name} [[0, 1]] output_shape [1, {count}] : "
                  f"{types['t']} into {row}" for name in "abc"]
        lines.append(f"  %rows = tensor.concat dim(0) %a0, %b0, %c0 : ({row}, {row}, {row}) -> "
                     f"{types['rows']}")
        lines.append(f"  %empty = tensor.empty() : {types['columns']}")
        lines.append(f"  %columns = linalg.transpose ins(%rows : {types['rows']}) "
                     f"outs(%empty : {types['columns']}) permutation = [1, 0]")
        literal = FORMATS[program.element].literal
        for name, code in {op.name.partition("_")[0]: op.infinity for op in program.ops
                           if op.infinity}.items():
            lines.append(f"  %{name} = arith.constant dense<{literal(code)}> : {types['t']}")
    for i, op in enumerate(program.ops):
        element, _, which = op.element.partition("#")
        text = op.text.format(**types)
        several = ":2" if "extended" in text else ""
        lines.append(f"  %r{i}{several} = {text}")
        results.append((f"%r{i}" + (f"#{which or 0}" if several else ""), types[element], op.name))
    header = f'module attributes {{tp.mesh = #tp.mesh<"tp" = {ranks}>}} {{\n' if ranks > 1 else \
        "module {\n"
    outputs = ", ".join(f'{kind} {{tp.name = "{name}"}}' for _, kind, name in results)
    return header + f"func.func @main({arguments}) -> ({outputs}) {{\n" + "\n".join(lines) + \
        "\n  return " + ", ".join(value for value, _, _ in results) + " : " + \
        ", ".join(kind for _, kind, _ in results) + "\n}\n}\n"
