"""Faults in what becomes of programs before anything else looks at them."""

LEGALIZE = "Transforms/Legalize/legalize.mlir"
EMPTY_PIECE = "Regression/read-of-an-empty-piece.test"
UNSIGNED = "Regression/unsigned-integers.test"
SHAPES = "Regression/dynamic-types-of-static-tensors.test"
SCATTER = "Regression/scatter-of-torch-mlir.test"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Transforms/Legalize/IndexRanges.cpp": [
        ("a loop reaches its extent",
         "return IndexRange{0, «extent - 1»};", "extent", LEGALIZE),
        ("a clamp to one side is one to both",
         "return combine(«a.value_or(all)», b.value_or(all));", "a.value_or(*b)", LEGALIZE),
    ],
    "lib/Transforms/Legalize/TensorOps.cpp": [
        ("what may be one behind the end is inside",
         "range && range->least >= 0 && «range->most < end»)", "range->most <= end", LEGALIZE),
        ("a slice of all of a dimension begins anywhere",
         "if («end == 1 && isa<Value>(offset)»)", "false", LEGALIZE),
    ],
    "lib/Transforms/Legalize/Control/InactiveBranches.cpp": [
        ("a place outside is read in a side that is not taken",
         "if («!range || range->least < 0 || range->most >= size»)", "false", EMPTY_PIECE),
    ],
    "lib/Transforms/Legalize/Signedness.cpp": [
        ("unsigned arguments are signed in files",
         "«function.setArgAttr(i, attr::unsignedPort, mark);»", "(void)0;", UNSIGNED),
    ],
    "lib/Transforms/Legalize/StaticShapes.cpp": [
        ("one size of an expansion is all of the dimension",
         "«known *= shape[at];»", "(void)0;", SHAPES),
    ],
    "lib/Transforms/Legalize/ElementTrace.cpp": [
        ("a number that is divided keeps its size",
         "«coefficient /= size;»", "(void)0;", LEGALIZE),
    ],
    "lib/Transforms/Legalize/TMTensorScatter.cpp": [
        ("a slice may reach beyond the end",
         "int64_t places = «original.getDimSize(dim) - extentOf(dim) + 1»;",
         "original.getDimSize(dim)", SCATTER),
        ("a slice has one element",
         "require(arith::CmpIPredicate::ult, at, number(nested, «extent»));", "1", SCATTER),
    ],
}
