"""Faults in the storage of weights in fewer bits than the model's."""

STORE_WEIGHTS = "Codegen/store-weights.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Storage/StoreWeights.cpp": [
        ("a parameter that a step updates is rounded",
         "if (isMatrix(function, i) && «!updated.contains({entry, i})») {", "true",
         STORE_WEIGHTS),
        ("the whole table is widened for a lookup",
         "if (auto extract = «dyn_cast<tensor::ExtractOp>(op)») {",
         "tensor::ExtractOp()", STORE_WEIGHTS),
        ("a product reads a widened copy",
         "if («isFactor(op, value)») {", "false", STORE_WEIGHTS),
        ("a view reads a widened copy",
         "moves = view && «view->source == value»;", "false", STORE_WEIGHTS),
        ("vectors are rounded",
         "type.getElementType().isF32() && «type.getRank() >= 2»;", "true",
         STORE_WEIGHTS),
        ("quantised types pass for bf16",
         "if («type == \"f16\" || type == \"bf16\"»)", "true", STORE_WEIGHTS),
    ],
    "lib/Codegen/Storage/StoragePlan.cpp": [
        ("a narrow weight is stored transposed",
         "«storage(gemm.b.root).elementType == gemm.elementType»)", "true",
         STORE_WEIGHTS),
    ],
}
