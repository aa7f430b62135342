"""Faults in what only the CUDA target does: epilogues of products, types of reductions."""

EPILOGUES = "Codegen/CUDA/epilogues.test"
REDUCED_TYPES = "Codegen/CUDA/cuda-reduction-types.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Gemm/Epilogue.cpp": [
        ("a matrix is added before the function that it comes after",
         "if (!add || «form.epilogue.gelu»",
         "false", EPILOGUES),
        ("x + x adds another x",
         "«add.getLhs() == add.getRhs()»",
         "false", EPILOGUES),
        ("what others read is not written",
         "if («at.hasOneUse()» &&",
         "!at.use_empty()", EPILOGUES),
        ("the init is added twice",
         "form.epilogue.takesInit = «true»;",
         "false", EPILOGUES),
    ],
    "lib/Codegen/Gemm/ScalarFunction.cpp": [
        ("a function hides what others read",
         "«next.empty()» && is(points",
         "true", EPILOGUES),
        ("GELU is what is near it",
         "«1e-6 + 1e-6 * std::abs(expected)»",
         "1e-2", EPILOGUES),
    ],
    "lib/Codegen/Gemm/Contraction.cpp": [
        ("a vector of f64 is added",
         "!gemm.bias && «!gemm.elementType.isF64()»",
         "true", EPILOGUES),
        ("any vector is one along the rows",
         "(gemm.m == 1 || «rows == 0») &&",
         "true", EPILOGUES),
        ("a matrix is the same for all of a batch",
         "if («loop.stride[term] == 0»)",
         "false", EPILOGUES),
        ("ranks without products have an epilogue",
         "«!llvm::is_contained(gemm.kOfRank, 0)» &&",
         "true", EPILOGUES),
        ("an epilogue cuts its product",
         "return «!other» || (other->m",
         "true", EPILOGUES),
    ],
    "lib/Codegen/CUDA/ReductionTypes.cpp": [
        ("NCCL takes the maxima of floats",
         "if (isa<FloatType>(element) && «isExtremum(kind)»)",
         "false", REDUCED_TYPES),
        ("NCCL adds f8",
         "«element.getIntOrFloatBitWidth() == 8»)",
         "false", REDUCED_TYPES),
    ],
}
