"""Programs of a model: its logits, its layers alone, its loss, or a whole step of
training, with the arguments and results that an exported program has, in the same
order."""

from adamw import AdamW
from gradients import gradients_of
from graph import Graph
import layers


def _start(model):
    graph = Graph(model.element)
    parameters = {
        name: graph.argument(name, "parameter", shape, model.element)
        for name, shape in model.parameters()}
    return graph, parameters


def _rest(graph, model):
    values = {name: graph.argument(name, "buffer", shape, model.element)
              for name, shape in model.buffers()}
    values |= {name: graph.argument(name, "user_input", shape, "i64")
               for name, shape in model.inputs()}
    return values


def forward(model):
    graph, parameters = _start(model)
    logits = model.logits(graph, parameters | _rest(graph, model))
    graph.result(logits, "user_output", logits.node)
    return graph


def blocks(model):
    """The layers alone, of hidden states `x`."""
    if not hasattr(model, "blocks"):
        raise SystemExit("error: expected a llama, as only its layers stand alone")
    graph = Graph(model.element)
    values = {name: graph.argument(name, "parameter", shape, model.element)
              for name, shape in model.parameters() if name.startswith("layers.")}
    values |= {name: graph.argument(name, "buffer", shape, model.element)
               for name, shape in model.buffers()}
    sizes = model.sizes
    x = graph.argument("x", "user_input", (sizes.batch, sizes.seq, sizes.dim),
                       model.element)
    y = model.blocks(graph, values, x)
    graph.result(y, "user_output", y.node)
    return graph


def _loss(graph, model, values):
    logits = model.logits(graph, values)
    labels = graph.argument("labels", "user_input", logits.shape[:-1], "i64")
    return layers.cross_entropy(logits, labels)


def loss(model):
    graph, parameters = _start(model)
    value = _loss(graph, model, parameters | _rest(graph, model))
    graph.result(value, "loss", "loss")
    return graph


def training(model, optimizer=AdamW()):
    graph, parameters = _start(model)
    first, second = (
        {name: graph.argument(name, kind, value.shape, graph.wide)
         for name, value in parameters.items()}
        for kind in ("opt_exp_avg", "opt_exp_avg_sq"))
    step = graph.argument("step", "opt_step", (), graph.wide)
    value = _loss(graph, model, parameters | _rest(graph, model))
    gradients = gradients_of(value, list(parameters.values()))
    step, *corrections = optimizer.corrections(step)
    updates = [
        optimizer.update(name, parameter, gradient, first[name], second[name],
                         corrections)
        for (name, parameter), gradient in zip(parameters.items(), gradients)]
    graph.result(value, "loss", "loss")
    for kind, values in zip(("new_parameter", "new_exp_avg", "new_exp_avg_sq"),
                            zip(*updates)):
        for name, updated in zip(parameters, values):
            graph.result(updated, kind, name)
    graph.result(step, "new_step", "step")
    return graph
