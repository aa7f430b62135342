"""Faults in what only the CUDA target does: epilogues of products, types of reductions."""

EPILOGUES = "Codegen/CUDA/epilogues.test"
REDUCED_TYPES = "Codegen/CUDA/cuda-reduction-types.mlir"
PLAN_MEMORY = "Codegen/plan-memory.mlir"
CALLS = "Codegen/CUDA/calls.mlir"
CUSTOM_OPS = "EndToEnd/CustomOps/custom-ops.test"
MAP_KERNELS = "Codegen/CUDA/map-kernels.mlir"
MAPPING_INVALID = "Codegen/CUDA/map-kernels-invalid.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Artifact/Commands.cpp": [
        ("functions of users get the largest part on every rank",
         "if («which < 0»)\n      continue;\n    described",
         "true", CALLS),
        ("integers of an op are floats",
         "else if («read.isFloat»)\n      attribute.value",
         "true", CALLS),
        ("outputs of an op are inputs",
         "(«number < numInputs» ? command.inputs",
         "true", CUSTOM_OPS),
    ],
    "lib/Codegen/Memory/MemoryPlan.cpp": [
        ("gathers wait for the layer before",
         "if («hasQueues(traits)»)\n    beginAhead", "false", PLAN_MEMORY),
    ],
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
    "lib/Codegen/Gemm/GemmLoops.cpp": [
        ("a vector of f64 is added",
         "!gemm.bias && «!gemm.elementType.isF64()»",
         "true", EPILOGUES),
        ("any vector is one along the rows",
         "(gemm.m == 1 || «rows == 0») &&",
         "true", EPILOGUES),
        ("a matrix is the same for all of a batch",
         "if («loop.stride[term] == 0»)",
         "false", EPILOGUES),
    ],
    "lib/Codegen/Gemm/Contraction.cpp": [
        ("ranks without products have an epilogue",
         "«!llvm::is_contained(gemm.kOfRank, 0)» &&",
         "true", EPILOGUES),
        ("an epilogue cuts its product",
         "return «!other» || (other->m",
         "true", EPILOGUES),
    ],
    "lib/Codegen/CUDA/Mapping/MapKernels.cpp": [
        ("a mapping by hand is replaced",
         "if («!given»)",
         "true", MAP_KERNELS),
        ("a mapping by hand is not checked",
         "else if («given != chosen.text» &&",
         "false", MAPPING_INVALID),
    ],
    "lib/Codegen/CodegenPlan.cpp": [
        ("equal kernels have one mapping",
         "«mapping.getAsOpaquePointer()»}",
         "static_cast<const void *>(nullptr)", MAP_KERNELS),
    ],
    "lib/Codegen/CUDA/Mapping/MappingAttribute.cpp": [
        ("packets may be wider than addresses are aligned",
         "if (failed(«expectPower(vectorsField, vector, 1, most)»))",
         "success()", MAPPING_INVALID),
        ("any kernel can be mapped in any way",
         "if («kind == chosen.kind» ||",
         "true", MAPPING_INVALID),
        ("a tile is of any size",
         "return «expectPower(tileField, mapping.tile, least, chosen.tile)»;",
         "success()", MAPPING_INVALID),
        ("a tile is read along any loop",
         "if («mapping.tileLoop != chosen.tileLoop»)",
         "false", MAPPING_INVALID),
        ("a row of any length stays in registers",
         "if («!held»)\n      continue;",
         "true", MAPPING_INVALID),
        ("any number of blocks share a row",
         "«mapping.splitFactor > chosen.splitFactor»)",
         "false", MAPPING_INVALID),
        ("what is said of packets in flight is not read",
         "*number = «fields.getAs<IntegerAttr>(name).getInt()»;",
         "name == packetsField ? 1 : fields.getAs<IntegerAttr>(name).getInt()", MAP_KERNELS),
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
