"""Faults in attention whose keys and values travel in a ring."""

RING = "Codegen/CPU/ring-attention.mlir"
RANDOM_RINGS = "Python/Plans/ring.test"
BACKWARD = "Codegen/Attention/ring-backward.mlir"
CONTEXT = "Python/Plans/context.test"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Attention/ChunkBuilder.cpp": [
        ("the maximum is what sums are divided by",
         "totals = columnsOf(state, «size + 1», 1);",
         "size", RING),
        ("a query without keys gets NaN",
         "if («form.emptyRows == EmptyRows::Zero») {",
         "false", RANDOM_RINGS),
        ("heads that share keys do not follow each other",
         "«heads = shared;\n  llvm::append_range(heads, group);»",
         "heads = group; llvm::append_range(heads, shared);", RANDOM_RINGS),
    ],
    "lib/Codegen/Attention/RingAttention.cpp": [
        ("chunks travel the other way round",
         "sources.push_back(«(rank + ranks - 1) % ranks»);",
         "(rank + 1) % ranks", RING),
        ("what is before the extension is multiplied",
         "if («getElementTypeOrSelf(chunk) == form.elementType»)",
         "true", RANDOM_RINGS),
        ("what is padded reaches the products",
         "} else if («isPadded») {",
         "false", RANDOM_RINGS),
    ],
    "lib/Codegen/Attention/RingMasks.cpp": [
        ("every chunk is this rank's",
         "Value moved =\n      arith::AddIOp::create(builder, loc, position, "
         "index(«ranks - step»));",
         "int64_t(0)", RING),
        ("keys are counted from the first one of all",
         "tableAt(inner, owner, at, «1»));\n        before",
         "0", RING),
        ("a chunk ends nowhere",
         "before = arith::MinSIOp::create(inner, loc, before,\n"
         "                                        "
         "tableAt(inner, owner, at, «2»));",
         "1", RING),
        ("a mask is read at the index in the chunk",
         "arith::AddIOp::create(inner, loc, offset,\n"
         "                                  tableAt(inner, owner, at, «1»)),",
         "0", CONTEXT),
        ("padding is seen",
         "inner, loc, «arith::CmpIPredicate::sge», arguments[0], first);",
         "arith::CmpIPredicate::sle", CONTEXT),
    ],
    "lib/Codegen/Attention/RingSource.cpp": [
        ("the second run of a chunk is where the first one is",
         "runs[at / source.chunk].push_back({local, «global», size});",
         "int64_t(0)", CONTEXT),
        ("a gather that cannot travel stays one",
         "if («!ringGather(gather)» || gather->use_empty())",
         "true", RING),
    ],
    "lib/Codegen/Memory/TakeOver.cpp": [
        ("a state never takes the place of the one before",
         "isOnlyAddedTo(attention, «attention.getOnto()», dying);",
         "Value()", RING),
        ("a sum of gradients never takes the place of the one before",
         "isOnlyAddedTo(backward, «backward.getOnto()», dying)",
         "Value()", BACKWARD),
    ],
    "lib/Codegen/Program/BuildProgram.cpp": [
        ("heads read what is added to others",
         "strides[dim] = «0»;",
         "1", CONTEXT),
    ],
}
