"""Faults in loops that are kept: how entries are cut, what parts carry, and what ranks run."""

OUTLINE = "Transforms/Legalize/outline-loops.mlir"
LOOPS = "EndToEnd/loops.test"
HOIST = "Transforms/Redistribute/hoist-redistributions.mlir"
PRICES = "Transforms/Propagate/kept-loops.mlir"
JAX_LOOPS = "Python/FromJax/kept-loops.test"
CARRIED_SUMS = "Transforms/Propagate/carried-sums.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Transforms/Legalize/Control/OutlineLoops.cpp": [
        ("a part of a weight is carried",
         "«isViewOfArgument(op)»)\n    return true;", "false", OUTLINE),
        ("an iteration too few",
         "return «llvm::divideCeil(*end - *first, *step)»;",
         "(*end - *first) / *step", OUTLINE),
        ("loops from below zero are kept",
         "*step < 1 || «*first < 0» || *end", "false", OUTLINE),
        ("the iteration begins at 0",
         "«*getConstantIntValue(loop.getLowerBound())»));",
         "0", OUTLINE),
        ("the iteration stays",
         "«*getConstantIntValue(loop.getStep())»));", "0", OUTLINE),
        ("a value of a part is not carried",
         "if («partOf.lookup(made) == number» || isFree(made) ||",
         "partOf.lookup(made) <= number + 1", LOOPS),
        ("every short loop is kept",
         "«*trips > limit / opsOf(loop)» &&", "true", OUTLINE),
        ("what no iteration changes is carried",
         "if (failed(«dropUnchanged(module)»))", "success()", OUTLINE),
        ("the body is priced as if it ran once",
         "builder.getI64IntegerAttr(«std::min(calls, mostCalls)»));", "1",
         OUTLINE),
    ],
    "lib/Transforms/Redistribute/HoistRedistributions.cpp": [
        ("what needs no collective is hoisted",
         "if (invariant.contains(change) && «needsCollective(change)»)", "true", HOIST),
        ("what iterations update is hoisted",
         "if («invariant.contains(change)» && needsCollective(change))", "true", HOIST),
        ("a carried value is taken as the part before finds it",
         "mapping.map(argument, «update == updates.end()»", "true", HOIST),
        ("what a part updates is one value in two loops",
         "name == nameOf(cast<BlockArgument>(there)) &&\n         «!updated.contains(name)»;",
         "true", HOIST),
        ("two loops carry the same twice",
         "return «found == hoisted.end()» ? StringAttr() : found->name;", "true", HOIST),
        ("what comes behind loops redistributes again",
         "if (erased.contains(change) || «most == 0»)", "true", HOIST),
        ("the part before redistributes twice",
         "if («areAlike(ops, own)»)", "false", HOIST),
        ("a loop is the part before a loop",
         "else if («timesOf(before) == 1»)", "true", HOIST),
        ("numbers of the body's values go along",
         "«copy->removeAttr(attr::values);»", "", HOIST),
    ],
    "lib/Transforms/Propagate/Graph/ValueCalls.cpp": [
        ("what is hoisted counts in every iteration",
         "graph.calls.push_back(«isInvariant(value)»", "false", PRICES),
        ("what iterations slice is brought together",
         "graph.slices[value] = «timesOf(graph.entries[entryOf[value]])»;", "1", PRICES),
    ],
    "lib/Transforms/Propagate/Problem/PortChoices.cpp": [
        ("sums are reduced in every iteration",
         "if («addsUp» && (isa<FloatType>(element)", "false", CARRIED_SUMS),
        ("fully sharded weights are cut as iterations slice them",
         "return «isCutBy(use, dim)» ||", "false", LOOPS),
        ("weights that are kept whole are cut as iterations slice them",
         "bool isGathered = «user.kind == Node::Kind::Constrain» &&", "false", LOOPS),
    ],
    "lib/Transforms/Plan/OptimizerState.cpp": [
        ("whatever iterations write may be partial",
         "«isComputedFrom(returned->getOperand(result),\n"
         "                                  function.getArgument(*old), !isFullySharded)»",
         "true", JAX_LOOPS),
    ],
    "lib/Transforms/Plan/ParameterGathers.cpp": [
        ("iterations gather whole weights",
         "return «isWhole.any()» ? slices : SmallVector<Value>();", "false", LOOPS),
        ("kept weights are gathered in slices",
         "if («!entry.keepsGathered()»)\n    sources = slicesOf(argument, updating);", "true",
         LOOPS),
    ],
    "lib/IR/Entries.cpp": [
        ("what the body updates is the same in all iterations",
         "if («!updates.contains(argument.getArgNumber())»)", "true", HOIST),
        ("parts share no inputs",
         "ofEntries[«wholeEntryOf(entries[each.entry])»].push_back(each);",
         "func::FuncOp(entries[each.entry]).getSymName()", LOOPS),
    ],
    "lib/Codegen/Memory/UpdateInPlace.cpp": [
        ("carried values are in place whatever reads them",
         "if (failed(reason) || «reason->empty()»)", "true", LOOPS),
        ("the copy reads the old value",
         "tp::KernelOp::create(builder, loc, «value», copied.getResult());",
         "old", LOOPS),
    ],
    "lib/Codegen/Artifact/MakeManifest.cpp": [
        ("collectives of a loop count once",
         "collective.count *= «entry.part->times»;", "1", LOOPS),
    ],
    "runtime/core/CpuRank.cpp": [
        ("an iteration is one too few",
         "i < «part->entry.part->times»;", "part->entry.part->times - 1", LOOPS),
        ("a check of an iteration is forgotten",
         "if («failedCheck == 0»)", "failedCheck == 0 && parts.size()", LOOPS),
    ],
    "runtime/transport/segment/RankMemory.cpp": [
        ("carried values are in one place",
         "carriedOf[view.index].push_back(take(«host ? value.bytes : 0»));",
         "0", LOOPS),
    ],
    "lib/Transforms/Plan/BindPorts.cpp": [
        ("a plan's results are those of parts too",
         "«isPartOfEntry(function)» ? TypeRange()", "false", LOOPS),
    ],
}
