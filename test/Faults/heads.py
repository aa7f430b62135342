"""Faults in heads that are fewer than ranks, and in what loops slice and carry of them."""

DYNAMIC_SLICES = "Transforms/Normalize/dynamic-slices.mlir"
SUB_AXES = "Transforms/Propagate/sub-axes.mlir"
GROUPED_HEADS = "Python/FromJax/grouped-heads.test"
CARRIED_SLICES = "Transforms/Plan/carried-slices.mlir"
CACHES = "Python/FromJax/caches.test"
FULLY_SHARDED = "Python/Training/fully_shard.test"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Transforms/Normalize/AtomicDims.cpp": [
        ("a dimension is cut where a computed place may be within a part",
         "return «!op.isDynamicOffset(dim)» &&", "true", DYNAMIC_SLICES),
    ],
    "lib/Transforms/Normalize/Refine.cpp": [
        ("a computed place is taken for a constant",
         "push(«op.isDynamicOffset(i)»\n", "false", DYNAMIC_SLICES),
    ],
    "lib/Transforms/Propagate/Graph/Heads.cpp": [
        ("heads are counted in elements",
         "if («factors.size() > 1»)\n"
         "    factors.pop_back();",
         "false", SUB_AXES),
        ("heads of a dimension of their own are elements",
         "if («isOfHeads(graph, use, dim)»)\n", "false", SUB_AXES),
        ("heads are not followed through views of a weight",
         "if («!graph.isWeight[value]»)\n        continue;\n      isOfWeights", "true", GROUPED_HEADS),
    ],
    "lib/Transforms/Plan/OptimizerState.cpp": [
        ("slices that iterations write are reduced one by one",
         "slice && «ofSlices»)", "false", CARRIED_SLICES),
        ("gradients of weights that are stored as shards may be partial",
         "bool isFullySharded = «!plan.getBody().getOps<FullyShardOp>().empty()»;", "false",
         CARRIED_SLICES),
    ],
    "lib/Transforms/Propagate/Graph/TiedPorts.cpp": [
        ("a state that is sharded by itself has no parameter",
         "owner = «llvm::is_contained(node.free, FreePort::AsParameter)»", "false",
         FULLY_SHARDED),
    ],
    "lib/Transforms/Propagate/Problem/PortChoices.cpp": [
        ("what iterations carry is cut as parameters are",
         "if (cut && «node.free[partNumber] == FreePort::Sharded»)", "true",
         GROUPED_HEADS),
        ("what iterations carry is cut between heads alone",
         "shardsOfUses(value, dim, «isAny»)", "false", GROUPED_HEADS),
        ("what a part hands on is read by nobody",
         "if (node.kind == Node::Kind::Result && «node.tiedTo»)", "false", CACHES),
    ],
}
