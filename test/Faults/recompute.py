"""Faults in what is computed again in the backward pass, and in what keeps it apart from the
forward pass in the stages behind."""

ELEMENTS = "Codegen/recompute-elements.mlir"
BUCKETS = "Transforms/Partition/bucket-collectives.mlir"
RECOMPUTE = "Transforms/Plan/recompute.mlir"
RECOMPUTE_INVALID = "Transforms/Plan/recompute-invalid.mlir"
VERIFY_BOUND = "Transforms/Plan/verify-bound.mlir"
RESUME = "Codegen/resume.mlir"
FORM_KERNELS = "Codegen/form-kernels.mlir"
ON_DEVICES = "Codegen/form-kernels-on-devices.mlir"
REPEAT_LAYERS = "Transforms/Layers/repeat-layers.test"
TRAINING = "Python/Training/recompute.test"
LIMIT = "EndToEnd/memory-limit.test"
FULLY_SHARD = "Transforms/Plan/fully-shard.mlir"
KEPT_SLICE = "Regression/kept-slice-of-a-loop.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Pipelines/PartitionPipeline.cpp": [
        ("memory: what is chosen is not computed again",
         "createRecompute({.modules = «options.recompute»})",
         "llvm::SmallVector<std::string>()", LIMIT),
    ],
    "lib/Transforms/Plan/Recompute/Recompute.cpp": [
        ("the backward pass reads what enters as the forward pass has brought it together",
         "for (Value input : inputs) {\n    «findUses(module, input, input)»;",
         "void()", RECOMPUTE),
        ("what is gathered in front of a module is kept gathered",
         "SmallVector<Operation *> gather = «gatherBefore(next)»;",
         "SmallVector<Operation *>()", RECOMPUTE),
        ("every module gathers for itself",
         "if («!module.forward.contains(op)»)",
         "false", RECOMPUTE),
        ("the backward pass reads shards where it reads them by the name before the pin",
         "for (Value shards : «gatheredBy(path.back())»)",
         "SmallVector<Value>()", RECOMPUTE),
        ("copies stand before the last op that reads them",
         "if (!place || «user->isBeforeInBlock(place)»)",
         "place->isBeforeInBlock(user)", RECOMPUTE),
        ("pins of the backward pass are those of the forward pass",
         "«made->setAttr(attr::recomputed, builder.getUnitAttr())»;",
         "void()", RECOMPUTE),
        ("copies read what the forward pass has gathered",
         "return «gather->hasAttr(attr::gather)» &&",
         "false", RECOMPUTE),
        ("what parameters determine is copied",
         "if (!kind || «(kind != \"parameter\" && kind != \"constant_tensor\")»)",
         "true", RECOMPUTE),
    ],
    "lib/Transforms/Plan/Recompute/RecomputedModules.cpp": [
        ("the model's modules stay beside those of the plan that they lie in",
         "return «isInside(module, name)» || isInside(name, module);",
         "false", RECOMPUTE),
        ("the model's modules stay beside those of the plan that lie in them",
         "return isInside(module, name) || «isInside(name, module)»;",
         "false", RECOMPUTE),
        ("modules that lie in each other are no error",
         "if («!isOuter && !isInside(module, other.module)»)",
         "true", RECOMPUTE_INVALID),
        ("any pin to replicate is a gather",
         "«from.getPlacement().getValue().isShard()»",
         "true", RECOMPUTE),
        ("a module without backward pass is bound",
         "if («!isReadAgain(function, index, module)»)",
         "false", RECOMPUTE_INVALID),
    ],
    "lib/Transforms/Plan/VerifyBound.cpp": [
        ("names of modules may be left",
         "if («function->hasAttr(attr::recompute)»)",
         "false", VERIFY_BOUND),
    ],
    "lib/Transforms/Propagate/Problem/OpChoices.cpp": [
        ("what the forward pass has gathered is kept",
         "«!isa_and_present<KeptOp>(node.op)» &&",
         "true", RECOMPUTE),
    ],
    "lib/Codegen/Program/CommandList.cpp": [
        ("what is kept of a slice is not written",
         "«addKept(kept);»", "return addKept(kept);", KEPT_SLICE),
    ],
    "lib/IR/ModuleLocation.cpp": [
        ("the backward pass is the forward pass",
         "return «module.starts_with(\"bwd:\")»;", "false", FULLY_SHARD),
    ],
    "lib/Transforms/Partition/BucketChooser.cpp": [
        ("what is copied faster than a latency lasts is sent alone",
         "if (ring > small.onLink && «copied > small.inMemory / 2»)",
         "true", BUCKETS),
        ("collectives are copied whatever that takes",
         "if (ring > small.onLink && «copied > small.inMemory / 2»)",
         "false", BUCKETS),
        ("a collective of the backward pass runs with one of the forward pass",
         "if («computesAgain && isOfBackwardPass(op->getLoc())»)",
         "false", RECOMPUTE),
    ],
    "lib/Codegen/Storage/RecomputeElements.cpp": [
        ("an exponential function is computed again for a product",
         "again.operations > «mostOperationsOfStored» ||",
         "mostOperations", ELEMENTS),
        ("half of a value is kept for a product",
         "again.bytes() > «kept.bytes() / leastSavingOfStored»))",
         "kept.bytes()", ELEMENTS),
        ("a result is computed again for a product",
         "(«readers.isResult» || again",
         "false", ELEMENTS),
    ],
    "lib/Codegen/Kernels/KernelOrder.cpp": [
        ("updates wait for messages on devices",
         "(«!hasQueues(traits)» ||", "true", ON_DEVICES),
        ("updates run where they stand",
         "«mayFollow(node)» ||", "false", FORM_KERNELS),
        ("what an update alone needs of a state runs where it stands",
         "(«node.readsState» &&", "false", FORM_KERNELS),
        ("an update waits for factors of the step",
         "if (isUpdate[number] && «!isOfStates[other]»)", "true", FORM_KERNELS),
        ("kernels run where their last part stood",
         "ready.push({«needed[number]», nodes[number].last, number});",
         "nodes[number].last", FORM_KERNELS),
    ],
    "lib/Codegen/Kernels/KernelGroups.cpp": [
        ("what is computed again waits for nothing",
         "      «waitFor(number, before)»;\n    lastGate = number;",
         "void()", RESUME),
    ],
    "lib/Transforms/Layers/CopyLayers.cpp": [
        ("copies of layers are computed again in the forward pass",
         "«isa<KeptOp>(op)» || (gather",
         "false", TRAINING),
        ("copies of layers are one attention",
         "*number + «copy * numAttentions»",
         "0", REPEAT_LAYERS),
    ],
    "lib/Transforms/Layers/OpSignature.cpp": [
        ("attentions of two layers are not alike",
         "«rest.erase(attr::attentionNumber)»;",
         "Attribute()", REPEAT_LAYERS),
    ],
}
