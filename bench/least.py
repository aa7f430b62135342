"""The least that a layer of a model communicates under the plans of plans.py
(docs/communication.md has the derivations): collectives by kind, and ring bytes per rank.
"""

import math

import plans
from ring import Collectives, ring

# A collective that sends less is worth waiting for others (docs/redistribution.md): the
# bytes that the default hardware sends in a collective's latency.
SMALL = 100_000


def parameters_of_layer(make, sizes):
    """(name, shape) of what one layer more adds."""
    one, two = (dict(make(sizes.with_layers(n)).parameters()) for n in (1, 2))
    return {name: shape for name, shape in two.items() if name not in one}


def per_layer(make, sizes, classes, program, plan, axes, width):
    """make: sizes to a model; classes: of the modules of the model of two layers; axes:
    data parallelism, if any, and then tensor parallelism; width: bytes of an element."""
    *data, ranks = axes.values()
    replicas = math.prod(data)
    tokens = sizes.batch // replicas * sizes.seq
    activation = tokens * sizes.dim * width
    least = Collectives()
    # Attention and feed-forward, each once forward and once backward.
    blocks = 2 if program == "forward" else 4
    if plan == "tensor-parallel":
        least.add("all_reduce", blocks, activation, ranks)
    else:
        least.add("all_gather", blocks, activation, ranks)
        least.add("reduce_scatter", blocks, activation, ranks)
    if program == "forward":
        return least

    model = make(sizes.with_layers(2))
    entries = list(getattr(model, plan.replace("-", "_"))())
    isAwaited = False
    for name, shape in parameters_of_layer(make, sizes).items():
        split = plans.split_dimension(name, entries, classes)
        sharing = shared_by(model, name, ranks)
        elements = math.prod(shape) // (ranks // sharing if split is not None else 1)
        isOfRows = plan == "sequence-parallel" and any(
            style == "sequence_parallel" and
            plans.matches(pattern, name.rpartition(".")[0])
            for pattern, style, _ in entries)
        isRouter = name.endswith("router.weight")
        # The ranks that have different parts of the sum, and by how many elements of an
        # intermediate gradient it could be reduced instead, over those of one replica.
        group, instead = 1, None
        if isOfRows:
            group = ranks
        elif isRouter:
            group, instead = ranks, shape[0] * tokens
        elif sharing > 1:
            group = sharing
            instead = tokens * elements // sizes.dim
        late = ring("all_reduce", elements * width, group * replicas)
        early = math.inf
        if instead is not None and group > 1:
            early = (ring("all_reduce", instead * width, group) +
                     ring("all_reduce", elements * width, replicas))
        if early < late:
            # Those of one layer can be sent together; the next layer's come later.
            isAwaited |= instead * width < SMALL
            if instead * width >= SMALL:
                least.counts["all_reduce"] += 1
            late_bytes = ring("all_reduce", elements * width, replicas)
        else:
            late_bytes = late
        least.counts["all_reduce"] += late_bytes > SMALL
        least.bytes += min(early, late)
    least.counts["all_reduce"] += isAwaited
    return least


def shared_by(model, name, ranks):
    """How many ranks have the same rows of a weight: those that share a key/value head."""
    isOfHeads = name.endswith(("attention.wk.weight", "attention.wv.weight"))
    heads = math.gcd(model.sizes.kv_heads, ranks)
    return ranks // heads if isOfHeads and model.sizes.kv_heads < ranks else 1
