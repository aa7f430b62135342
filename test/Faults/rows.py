"""Faults in products: how loops become one, some rows of it, and matrices that are looked up."""

SKIP_ROWS = "Codegen/skip-rows.mlir"
SKIP_TERMS = "Codegen/skip-terms.mlir"
SOME_ROWS = "Codegen/some-rows.mlir"
RANDOM_ROWS = "Codegen/CPU/random-rows.test"
LOOKUPS = "Codegen/lookups.mlir"
INVALID = "Codegen/hand-written-invalid.mlir"
CONTRACTIONS = "Codegen/CPU/contractions.mlir"
KERNELS = "Codegen/CPU/cpu-compile.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Gemm/GemmChoice.cpp": [
        ("a matrix that is looked up has an order",
         "if («!isStored(root)» || ordered.contains(root) || alpha != 1.0)",
         "false", "Regression/looked-up-input.test"),
    ],
    "lib/Codegen/Rows/NeededElements.cpp": [
        ("what one reader needs is enough",
         "*this = «all()»;",
         "*this", SKIP_ROWS),
        ("an index that is not told is the first",
         "if («!place && need.condition.place.isFunctionOfDim(dim)»)",
         "false", SKIP_ROWS),
        ("a select needs its other side",
         "own = neededBy(select, «operand.getOperandNumber() == 1»);",
         "operand.getOperandNumber() == 2", RANDOM_ROWS),
        ("a condition is that of each view",
         "while (std::optional<View> view = «viewOf(condition.value)»)",
         "std::optional<View>()", SKIP_TERMS),
        ("a view of a condition is read as its source",
         "condition.place = «view->map.compose(condition.place)»;",
         "condition.place", SKIP_TERMS),
        ("the terminator needs nothing",
         "else if (!addView(op))\n    «addAll(op)»;",
         "(void)0", SKIP_ROWS),
    ],
    "lib/Codegen/Rows/SkipRows.cpp": [
        ("rows by a condition of both operands",
         "return «belongsTo(contraction.lhs) || belongsTo(contraction.rhs)»;",
         "true", SKIP_ROWS),
        ("a condition that the product makes comes before it",
         "if («maker == user» || !isMemoryEffectFree(maker))",
         "false", SKIP_ROWS),
        ("any condition takes a side of a select",
         "if (!own || «own->value != needed.value || own->place != needed.place»)",
         "false", SKIP_TERMS),
        ("a select takes its first side",
         "select.replaceAllUsesWith(«needed.wanted» ? ",
         "true", SKIP_TERMS),
        ("what is wanted is what is not",
         "if («!needed.wanted») {",
         "false", RANDOM_ROWS),
    ],
    "lib/Codegen/Rows/SkipTerms.cpp": [
        ("a factor is zero where it is something else",
         "«!isZero(op, select.getFalseValue())»)",
         "false", SKIP_TERMS),
        ("a sum starts from anything",
         "«!areZeros(op.getDpsInitOperand(0)->get())»)",
         "false", SKIP_TERMS),
        ("two conditions are one",
         "if («found && !(*found == *condition)»)",
         "false", SKIP_TERMS),
        ("one factor is enough",
         "if (!condition)\n      «return std::nullopt»;\n    condition->place",
         "continue", SKIP_TERMS),
        ("a condition of the result is one of terms",
         "return «isOfSum» ? found",
         "true", SKIP_TERMS),
    ],
    "lib/Codegen/Gemm/ContractionBody.cpp": [
        ("a term that does not count starts from elsewhere",
         "«select.getFalseValue() !=\n          "
         "op.getMatchingBlockArgument(op.getDpsInitOperand(0))»)",
         "false", SKIP_TERMS),
        ("terms of one factor",
         "if («terms.isFunctionOfDim(loop) &&\n          "
         "!(lhs.isFunctionOfDim(loop) && rhs.isFunctionOfDim(loop))»)",
         "false", SKIP_TERMS),
    ],
    "lib/Codegen/Rows/TakeNeeded.cpp": [
        ("what another op reads is not needed",
         "if («source.hasOneUse()» && traits.leavesRows)",
         "true", SKIP_ROWS),
        ("a condition of one element is read along the value",
         "if («size == 1»)\n",
         "false", SKIP_ROWS),
    ],
    "lib/Codegen/Gemm/GemmLoops.cpp": [
        ("loops with a gap are joined",
         "return «outer.stride[operand] == inner.stride[operand] * "
         "inner.extent»;",
         "true", CONTRACTIONS),
        ("a transposed operand is not",
         "operand.transpose = «true»;",
         "false", CONTRACTIONS),
        ("the stride of a single row",
         "operand.ld = «rows == 1 ? std::max<int64_t>(columns, 1) : "
         "rowStride»;",
         "std::max<int64_t>(columns, 1)", CONTRACTIONS),
        ("operands of a batch are the first's",
         "gemm.b.batchStrides.push_back(«loop.stride[1]»);",
         "loop.stride[0]", CONTRACTIONS),
        ("rows by a condition of the columns",
         "«llvm::any_of(others, moves)»)",
         "false", SKIP_ROWS),
        ("rows lie one behind the other",
         "mask.ld = «loop.stride[chooser.term]»;",
         "1", RANDOM_ROWS),
        ("loops of terms join whatever the condition",
         "if («extras.chosenTerms»)\n    joinLoops",
         "false", SKIP_TERMS),
        ("rows of a table are matrices",
         "if («loop.stride[extras.places->term] != 0»)",
         "false", LOOKUPS),
    ],
    "lib/Codegen/Gemm/TakeLookups.cpp": [
        ("an index of the loops is none of the elements",
         "if («isa<linalg::IndexOp>(maker)» || maker->getNumRegions())",
         "false", LOOKUPS),
    ],
    "lib/Codegen/Gemm/Contraction.cpp": [
        ("the table is read at its first matrix",
         "gemm.tableStride = «form->dimStrides[lookup->dim]»;",
         "0", LOOKUPS),
        ("rows cut a product into small ones",
         "return «isAsLarge» ? some : whole;",
         "some", SKIP_ROWS),
        ("a table has one matrix",
         "gemm.tableSize = «shapeOf(lookup->table)[lookup->dim]»;",
         "1", LOOKUPS),
    ],
    "lib/Codegen/CPU/KernelLoops.cpp": [
        ("a condition is asked before its loops",
         "known = «level + 1»;",
         "level", SOME_ROWS),
    ],
    "lib/Codegen/Program/CommandList.cpp": [
        ("what is checked is checked in some rows",
         "if (needed && «!checks(op)»)",
         "true", SKIP_ROWS),
    ],
    "lib/Codegen/Kernels/LoopNests.cpp": [
        ("weights along a sum keep it from its columns",
         "return «hasWeights ? isMatrix : columns»;",
         "!hasWeights && columns", KERNELS),
        ("sums of two vectors are in memory",
         "isMatrix |= «stride == 1 && reduces»;",
         "stride == 1", KERNELS),
    ],
}
