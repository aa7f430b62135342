"""Plans for a generated model: tensor parallel, sequence parallel and chosen by tp on the
mesh's last axis; on a first axis the batch is split."""

import os
from fnmatch import fnmatchcase

# The dimension that a style splits of the weight of a module of each class.
COLUMNS = {"Linear": 0, "Conv1D": 1, "Embedding": 1}
ROWS = {"Linear": 1, "Conv1D": 0, "Embedding": 0}


# Instead of a style: the entry names parameters, and the dimension that is split.
PARAMETER = "parameter"


def axes_of(text):
    """"dp=2,tp=4" as a dictionary."""
    axes = dict(axis.split("=") for axis in text.split(","))
    return {name: int(size) for name, size in axes.items()}


def matches(pattern, module):
    return pattern.count(".") == module.count(".") and fnmatchcase(module, pattern)


def split_dimension(name, entries, classes):
    """Of a parameter, or None."""
    module, _, kind = name.rpartition(".")
    for pattern, style, options in entries:
        if style == PARAMETER and matches(pattern, name):
            return int(options)
        if matches(pattern, module) and style in ("colwise", "rowwise"):
            dims = COLUMNS if style == "colwise" else ROWS
            if kind == "weight":
                return dims[classes[module]]
            return 0 if style == "colwise" else None
    return None


def layout(model, name, dim):
    if dim is None:
        return "replicate"
    for end, sizes in model.segments().items():
        if name.endswith(end):
            return f"shard<{dim}, segments = {sizes}>"
    return f"shard<{dim}>"


def model_entries(graph, entries):
    for pattern, style, options in entries:
        # Layers alone have neither embedding nor head.
        if style != PARAMETER and not any(matches(pattern, row[0]) for row in graph.rows):
            continue
        if style == PARAMETER:
            for number, (_, kind, name) in enumerate(graph.arguments):
                if kind == "parameter" and matches(pattern, name):
                    yield f"tp.argument {number} shard<{options}>"
            continue
        options = f" {{{options.removeprefix(', ')}}}" if options else ""
        yield f'tp.parallelize "{pattern}" with {style}{options}'


def state_entries(model, graph, entries):
    """Optimizer state has its parameter's layout, and so does what is updated: plans say
    so port by port, as names stand for parameters."""
    classes = {name: kind for name, kind, *_ in graph.rows}
    for number, (value, kind, name) in enumerate(graph.arguments):
        if kind in ("opt_exp_avg", "opt_exp_avg_sq"):
            dim = split_dimension(name, entries, classes)
            if dim is not None:
                yield f"tp.argument {number} {layout(model, name, dim)}"
    for number, (value, kind, name) in enumerate(graph.results):
        if kind in ("loss", "new_step"):
            yield f"tp.result {number} replicate"
        elif kind.startswith("new_"):
            dim = split_dimension(name, entries, classes)
            yield f"tp.result {number} {layout(model, name, dim)}"
        elif not any(name == "x" for *_, name in graph.arguments):
            # Not of hidden states, which lie as the layers leave them.
            yield f"tp.result {number} shard<{len(value.shape) - 1}>"


def batch_entries(graph):
    for _, kind, name in graph.arguments:
        if kind == "user_input":
            yield f'tp.argument "{name}" shard<0>'
    for number, (_, kind, _) in enumerate(graph.results):
        yield f"tp.result {number} " + (
            "shard<0>" if kind == "user_output" else "replicate")


def plan_text(axes, groups):
    """groups: axis to entries."""
    mesh = ", ".join(f'"{name}" = {size}' for name, size in axes.items())
    return f"#mesh = #tp.mesh<{mesh}>\n" + "".join(
        f'tp.plan @{axis} on #mesh["{axis}"] {{\n' +
        "".join(f"  {entry}\n" for entry in entries) + "}\n"
        for axis, entries in groups.items())


def write(folder, model, graph, axes):
    *batch, last = axes
    for name, entries in (("tensor-parallel", list(model.tensor_parallel())),
                          ("sequence-parallel", list(model.sequence_parallel()))):
        groups = {axis: batch_entries(graph) for axis in batch}
        groups[last] = [*model_entries(graph, entries), *state_entries(model, graph, entries)]
        with open(os.path.join(folder, name + ".plan.mlir"), "w") as file:
            file.write(plan_text(axes, groups))
    with open(os.path.join(folder, "auto.plan.mlir"), "w") as file:
        file.write(plan_text(axes, {axis: batch_entries(graph) for axis in batch}))
        file.write(f'tp.plan @{last} on #mesh["{last}"] auto {{\n}}\n')
