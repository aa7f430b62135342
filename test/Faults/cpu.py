"""Faults in the CPU back end: index expressions, storage, products, kernels, order
of execution, memory, and what the manifest says."""

CONTRACTIONS = "Codegen/CPU/contractions.mlir"
RANDOM_PROGRAMS = "Codegen/CPU/random-programs.test"
MEMORY = "Codegen/CPU/memory.mlir"
ALL_TO_ALL_RESULT = "Regression/all-to-all-result.test"
FUSION = "Codegen/CPU/fusion.mlir"
KERNELS = "Codegen/CPU/cpu-compile.mlir"
WAITING_GROUPS = "Regression/groups-that-wait-in-a-circle.mlir"
UNEVEN_CONTRACTIONS = "Codegen/CPU/uneven-contractions.mlir"
FOREIGN_PROCESSOR = "Regression/foreign-processor.test"
INIT_COMPUTED = "Regression/init-computed-in-the-kernel.mlir"
ELEMENT_AND_SCALAR = "Regression/element-read-as-scalar-too.mlir"
OPS_AFFINE = "EndToEnd/ops-affine.mlir"
CEILDIV = "Regression/ceildiv-in-an-indexing-map.mlir"
VERIFY_LEGAL = "Transforms/Legalize/verify-legal.mlir"
AFFINE_MAPS = "Simulate/affine-maps.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/IR/AffineRange.cpp": [
        ("a product's factor is forgotten",
         "return addAll(multiple->first, «limitedProduct(factor, "
         "multiple->second)»);",
         "multiple->second", CONTRACTIONS),
        ("ceildiv in a body rounds down",
         "Value sum = «arith::AddIOp::create(builder, loc, a, most)»;",
         "Value(a)", OPS_AFFINE),
        ("ceildiv of what may be negative rounds down",
         "return «arith::CeilDivSIOp::create(builder, loc, a, b)»;",
         "Value(arith::FloorDivSIOp::create(builder, loc, a, b))", OPS_AFFINE),
        ("floordiv of a negative number rounds to zero",
         "return «arith::FloorDivSIOp::create(builder, loc, a, b)»;",
         "Value(arith::DivSIOp::create(builder, loc, a, b))", OPS_AFFINE),
        ("mod of a negative number is negative",
         "Value quotient = «arith::FloorDivSIOp::create(builder, loc, a, b)»;",
         "Value(arith::DivSIOp::create(builder, loc, a, b))", OPS_AFFINE),
        ("what may be negative is divided as unsigned",
         "isUnsigned = «boundsOf(binary.getLHS(), bounds).lo >= 0» &&",
         "true", OPS_AFFINE),
        ("a range is rounded down by ceildiv",
         "return «llvm::divideCeilSigned(x, y)»;",
         "llvm::divideFloorSigned(x, y)", VERIFY_LEGAL),
        ("a value is rounded down by ceildiv",
         "return «llvm::divideCeilSigned(*a, *b)»;",
         "llvm::divideFloorSigned(*a, *b)", VERIFY_LEGAL),
        ("the value of mod is negative",
         "return «llvm::mod(*a, *b)»;",
         "*a % *b", VERIFY_LEGAL),
    ],
    "lib/Transforms/Legalize/IndexingMaps.cpp": [
        ("an index of more than one loop is not followed",
         "return «visitPoints(result, extents, size)»;",
         "success()", VERIFY_LEGAL),
    ],
    "lib/Interpreter/LoopNest.cpp": [
        ("the simulator rounds ceildiv down",
         "std::optional(«-floorOf(-a, b)»);", "floorOf(a, b)", AFFINE_MAPS),
        ("the simulator's mod is negative",
         "std::optional(«a - floorOf(a, b) * b»);", "a % b", AFFINE_MAPS),
        ("the simulator's floordiv rounds to zero",
         "return «quotient * b != a && (a < 0) != (b < 0)» ? quotient - 1",
         "false", AFFINE_MAPS),
    ],
    "lib/Codegen/Elements/IndexExpr.cpp": [
        ("ceildiv in an indexing map is a remainder",
         "divide(sum, std::abs(c), /*mod=*/«false», space, context);",
         "true", CEILDIV),
        ("ceildiv in an indexing map rounds down",
         "return floorDivide(«lhs + (c.getValue() - 1)», c.getValue(), space,",
         "lhs", CEILDIV),
        ("a quotient that varies is a constant",
         "if («low == llvm::divideFloorSigned(r.hi, c)»)",
         "true", CONTRACTIONS),
        ("strides of a row count from the front",
         "    stride *= «shape[i]»;\n"
         "  }\n  return AffineMap",
         "shape[0]", CONTRACTIONS),
    ],
    "lib/Codegen/Elements/ViewAnalysis.cpp": [
        ("reshape: strides of the coarse side",
         "stride *= «std::max<int64_t>(fine[dim], 1)»;",
         "1", CONTRACTIONS),
        ("insert: the slice covers all of the dimension",
         "box.sizes.push_back(«size»);",
         "shape[i]", RANDOM_PROGRAMS),
        ("pad: nothing before the elements",
         "box.offsets = constantOffsets(«op.getStaticLow()», context);",
         "SmallVector<int64_t>(op.getStaticLow().size(), 0)", RANDOM_PROGRAMS),
        ("concat: all operands at the front",
         "offsets[concat.getDim()] += «piece.sizes[concat.getDim()]»;",
         "0", RANDOM_PROGRAMS),
    ],
    "lib/Codegen/Kernels/FusedKernel.cpp": [
        ("a read of the same value elsewhere counts once",
         "«read.root == value && read.index == index» && !read.dataDependent)",
         "read.root == value", MEMORY),
        ("the init of a reduction is not read",
         "«collector.init(op.getDpsInitOperand(number)->get(), index);»",
         "(void)0;", RANDOM_PROGRAMS),
        ("an init is read as late as an input",
         "«read.isInit = true;»", "(void)0;", INIT_COMPUTED),
        ("an element read as a scalar is known where it was read before",
         "known.push_back({read.root, {}, «true»});", "false",
         ELEMENT_AND_SCALAR),
    ],
    "lib/Codegen/Storage/StoragePlan.cpp": [
        ("exchanged blocks are read in the order of dimensions",
         "storage(op.getResult(0)).address = «receivedOrder(allToAll)»;",
         "storage(op.getResult(0)).address", ALL_TO_ALL_RESULT),
        ("blocks of an exchange without gaps",
         "along.floorDiv(size) * «blockElements»;",
         "size", ALL_TO_ALL_RESULT),
        ("a weight that others read is transposed",
         "if («!onlyGemms»)\n      continue;",
         "false", CONTRACTIONS),
    ],
    "lib/Codegen/Gemm/Contraction.cpp": [
        ("scaling that is no number of its own",
         "scale = «constant.convertToDouble()»;",
         "1.0", CONTRACTIONS),
        ("a scaled operand is not scaled",
         "    } else if (std::optional<double> scale = scaleOf(value, "
         "source)) {\n      «alpha *= *scale;»",
         "(void)0;", CONTRACTIONS),
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
        ("valid rows have gaps",
         "return «step == 0 || loop.stride[0] == unit * step * inner»;",
         "true", UNEVEN_CONTRACTIONS),
        ("rows of padding are multiplied",
         "gemm.kOfRank.push_back(«rows»);",
         "gemm.k", UNEVEN_CONTRACTIONS),
        ("inits of products are overwritten",
         "gemm.beta = zero ? 0.0 : «1.0»;",
         "0.0", CONTRACTIONS),
    ],
    "lib/Codegen/Gemm/ContractionBody.cpp": [
        ("a chunk that begins later has more rows",
         "llvm::SubOverflow(last, «offset», count)",
         "int64_t(0)", UNEVEN_CONTRACTIONS),
        ("a loop that is no reduction ends early",
         "if («op.getIteratorTypesArray()[*index.loop] !=\n"
         "        utils::IteratorType::reduction»)",
         "false", UNEVEN_CONTRACTIONS),
        ("what else a body does is lost",
         "«matched.size() != body->getOperations().size()»)",
         "false", UNEVEN_CONTRACTIONS),
        ("the rows of the next rank",
         "mesh.getValue().coordinate(«rank», part)",
         "(rank + 1) % numRanks", UNEVEN_CONTRACTIONS),
    ],
    "lib/Codegen/Kernels/Schedule.cpp": [
        ("commands in any order",
         "waiting[i] = «node.before.size()»;",
         "0", RANDOM_PROGRAMS),
        ("who waits for a group does not see it grow",
         "«nodes[node].latest» < nodes[to].first",
         "nodes[node].last", WAITING_GROUPS),
        ("a product runs before its init is there",
         "addNode(std::move(node), «gemm->reads()»)",
         "SmallVector<Value, 4>{gemm->a.root, gemm->b.root}", RANDOM_PROGRAMS),
        ("values between groups live in one group's rows",
         "«touches.lookup(target) == 1»)",
         "true", MEMORY),
    ],
    "lib/Codegen/Kernels/FormKernels.cpp": [
        ("values that another nest reads are passed as scalars",
         "if («local»)\n        forwarded.insert(target);",
         "true", FUSION),
    ],
    "lib/Codegen/Memory/MemoryPlan.cpp": [
        ("a value dies where it is made",
         "«it->second.last = position;»",
         "(void)0;", MEMORY),
        ("blocks have no alignment",
         "int64_t(«llvm::alignTo(blocks[other].bytes, alignment)»)});",
         "blocks[other].bytes / 2", MEMORY),
        ("values are overwritten whatever reads them",
         "«!mayOverwrite(plan, *command.fusedKernel, written, dying)»)",
         "false", MEMORY),
        ("elements are written before others read them",
         "if (it > writerAt || «access->loops != write->loops»)",
         "false", MEMORY),
        ("the owner of an overwritten value dies first",
         "it->second.last = «std::max(it->second.last, lifetime.last)»;",
         "it->second.last", MEMORY),
    ],
    "lib/Codegen/Emit/ElementEmitter.cpp": [
        ("indices beyond the end are read",
         "value = «arith::MaxSIOp::create(builder, loc, value, "
         "constant(lo))»;",
         "Value(value)", KERNELS),
    ],
    "lib/Codegen/CPU/ObjectCode.cpp": [
        ("what the code may use is not written down",
         "if («ofProcessors.contains(feature.Key)» &&",
         "false", FOREIGN_PROCESSOR),
    ],
    "lib/Codegen/CPU/CPUKernelEmitter.cpp": [
        ("loops end one early",
         "emitter.constant(«bounds[i + 1]»),",
         "bounds[i + 1] - 1", RANDOM_PROGRAMS),
    ],
}
