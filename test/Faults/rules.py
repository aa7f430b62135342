"""Faults in rules and in what they make one rank do."""

CHECK_UNEVEN_SHARDING_RULES = "Interfaces/check-uneven-sharding-rules.mlir"
CHECK_LINALG_SHARDING_RULES = "Interfaces/check-linalg-sharding-rules.mlir"
CHECK_BODIES = "Interfaces/check-bodies.mlir"
BODY_SHARDING_RULES = "Interfaces/body-sharding-rules.mlir"
LINALG_SHARDING_RULES = "Interfaces/linalg-sharding-rules.mlir"
UNEVEN_NESTED = "Simulate/uneven-nested.mlir"
SEGMENTS = "Interfaces/segments.test"
PACKED_INDEX = "Simulate/packed-index.mlir"
CHECK_TENSOR_SHARDING_RULES = "Interfaces/check-tensor-sharding-rules.mlir"
CHECK_EVERY_CELL = "Interfaces/check-every-cell.mlir"
TENSOR_SHARDING_RULES = "Interfaces/tensor-sharding-rules.mlir"
LOOKUP_OF_NEGATIVE_ZERO = "Regression/lookup-of-negative-zero.mlir"
LOOKUPS_OF_EDGE_VALUES = "Regression/lookups-of-edge-values.test"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Interfaces/LinalgLocalOp.cpp": [
        ("index of a split loop stays local",
         "index->getResult(0).replaceAllUsesWith(«local.globalIndex(loop, "
         "own)»);",
         "own", CHECK_UNEVEN_SHARDING_RULES),
        ("index of another loop is made global",
         "Value own = indexOf(«loop»);",
         "loop ? loop - 1 : loop", CHECK_UNEVEN_SHARDING_RULES),
        ("table read: not masked at all",
         "«isHere = both(isHere, holds);»",
         "", CHECK_LINALG_SHARDING_RULES),
        ("table read: mask the wrong way round",
         "arith::SelectOp::create(builder, loc, «isHere», read, identity);",
         "Value(arith::XOrIOp::create(builder, loc, isHere, "
         "arith::ConstantOp::create(builder, loc, "
         "builder.getBoolAttr(true))))", CHECK_LINALG_SHARDING_RULES),
        ("table read: masked with 1",
         "identityOf(«ReductionKind::Sum», read.getType())",
         "ReductionKind::Product", CHECK_LINALG_SHARDING_RULES),
        ("lookup: what a body makes of the identity stays",
         "«if (!holdsLookups)\n      return;»",
         "return;", LOOKUPS_OF_EDGE_VALUES),
        ("lookup: the elements of all reads are needed",
         "readsOwn = «either(readsOwn, isHere)»;",
         "both(readsOwn, isHere)", LOOKUPS_OF_EDGE_VALUES),
        ("table read: a row elsewhere is looked up out of range",
         "indices[dim] = «selectOrZero(holds, own, loc)»;",
         "own", CHECK_LINALG_SHARDING_RULES),
        ("table read: padding looks up what it likes",
         "indices[dim] = «selectOrZero(isElement, indices[dim], loc)»;",
         "indices[dim]", CHECK_UNEVEN_SHARDING_RULES),
        ("table read: a dimension of the loop keeps its index",
         "indices[dim] = «indexOf(factors.front())»;",
         "indices[dim]", CHECK_LINALG_SHARDING_RULES),
        ("padding divides",
         "«inner->setOperand(\n            1, "
         "arith::SelectOp::create(builder, loc, isElement, divisor, one))»;",
         "(void)one", CHECK_BODIES),
        ("padding fails assertions",
         "builder, loc, «isElement», assertion.getArg(), always));",
         "Value(always)", CHECK_BODIES),
        ("padding is reduced",
         "«if (!isReduced)\n      return;»",
         "return;", CHECK_UNEVEN_SHARDING_RULES),
        ("only the first result of a reduction is masked",
         "llvm::enumerate(«op.getRegionOutputArgs()»))\n"
         "      yield->setOperand(i,",
         "op.getRegionOutputArgs().take_front(1)", CHECK_BODIES),
        ("one of two uneven loops is masked",
         "isReduced = «both(isReduced, valid)»;",
         "valid", CHECK_BODIES),
        ("even chunks of indexed ops are taken as they are",
         "(«readsIndex» || hasTables ||",
         "false", CHECK_LINALG_SHARDING_RULES),
        ("uneven chunks are taken as they are",
         "hasTables || «local.isUneven(factor)»",
         "false", CHECK_UNEVEN_SHARDING_RULES),
    ],
    "lib/Interfaces/LinalgShardingRules.cpp": [
        ("loops of a sum in an index are split",
         "rule.factors[dim.getPosition()].unsplittable =\n"
         "            «\"a loop that is added to another in an index cannot "
         "be split\"»;",
         "\"\"", BODY_SHARDING_RULES),
        ("a table of another size than the loop is its factor",
         "if («found && ranges[*found] != type.getDimSize(dim)»)",
         "false", CHECK_BODIES),
        ("of two reads of a table the last decides",
         "loop[dim] = «first || loop[dim] == found ? found : std::nullopt»;",
         "found", CHECK_UNEVEN_SHARDING_RULES),
        ("a table whose reads are not linear is split",
         "factor.unsplittable = «\"the results are not linear in the "
         "table\"»;",
         "\"\"", CHECK_BODIES),
        ("a table is split under an accumulator",
         "factor.unsplittable = «\"the results accumulate onto their "
         "inits\"»;",
         "\"\"", CHECK_BODIES),
        ("a reduction of another sort is split",
         "if (!why.empty() && «factor.unsplittable.empty()»)",
         "false", LINALG_SHARDING_RULES),
        ("maxnum starts from anything",
         "«return fill && isIdentityConstant(fill.value(), kind);»",
         "return true;", LINALG_SHARDING_RULES),
        ("fills with any number are partial",
         "return «isIdentityConstant(yielded, kind)»;",
         "true", LINALG_SHARDING_RULES),
        ("a body that reads its init is partial for nothing",
         "«isRead != llvm::is_contained(subset, slot)»",
         "false", LINALG_SHARDING_RULES),
    ],
    "lib/Interfaces/LocalOpBuilder.cpp": [
        ("table read: offset added, not subtracted",
         "Value own = «arith::SubIOp::create(builder, loc, global, "
         "segment.offset)»;",
         "Value(arith::AddIOp::create(builder, loc, global, segment.offset))",
         CHECK_LINALG_SHARDING_RULES),
        ("table read: first row of a rank masked",
         "builder, loc, «arith::CmpIPredicate::sge», global, segment.offset);",
         "arith::CmpIPredicate::sgt", CHECK_LINALG_SHARDING_RULES),
        ("table read: first row of the next rank not masked",
         "builder, loc, «arith::CmpIPredicate::slt», global, segment.end);",
         "arith::CmpIPredicate::sle", CHECK_UNEVEN_SHARDING_RULES),
        ("table read: of packed tables only the first is known",
         "found.holds = «arith::OrIOp::create(builder, loc, found.holds, "
         "isHere)»;",
         "Value(found.holds)", SEGMENTS),
        ("table read: all packed tables begin at the first one's place",
         "own = «arith::AddIOp::create(builder, loc, own, start)»;",
         "Value(own)", SEGMENTS),
        ("table read: a row of a later packed table is taken for an earlier",
         "found.own = «arith::SelectOp::create(builder, loc, isHere, own, "
         "found.own)»;",
         "Value(found.own)", SEGMENTS),
        ("offset: chunks rounded down",
         "    size = «llvm::divideCeil(size, part.size)»;\n"
         "    Value index = AxisIndexOp",
         "std::max<int64_t>(1, size / part.size)",
         CHECK_UNEVEN_SHARDING_RULES),
        ("offset: axes do not add up",
         "segment.offset = «arith::AddIOp::create(builder, loc, "
         "segment.offset, step)»;",
         "Value(step)", UNEVEN_NESTED),
        ("end: of the last level only",
         "segment.end = «arith::MinSIOp::create(builder, loc, segment.end, "
         "after)»;",
         "Value(after)", CHECK_UNEVEN_SHARDING_RULES),
        ("end: one too many",
         "segment.end = arith::ConstantIndexOp::create(builder, loc, «start "
         "+ size»);",
         "start + size + 1", CHECK_UNEVEN_SHARDING_RULES),
        ("segments all start where the first does",
         "segment.offset = arith::ConstantIndexOp::create(builder, loc, "
         "«start»);",
         "start * 0", PACKED_INDEX),
        ("the second segment counts from the buffer's start",
         "segment.localStart = «localStart»;",
         "localStart * 0", PACKED_INDEX),
        ("every index is in the first segment",
         "global = «arith::SelectOp::create(builder, loc, isHere, here, "
         "global)»;",
         "Value(global)", PACKED_INDEX),
        ("every index ends with the first segment",
         "end = «arith::SelectOp::create(builder, loc, isHere, segment.end, "
         "end)»;",
         "Value(end)", PACKED_INDEX),
        ("the first index beyond the end is valid",
         "create(builder, loc, «arith::CmpIPredicate::slt»,",
         "arith::CmpIPredicate::sle", CHECK_UNEVEN_SHARDING_RULES),
        ("a window's part starts at the front",
         "window.offset += «chunkOf(factor, size)»;",
         "0", CHECK_UNEVEN_SHARDING_RULES),
        ("an uneven factor counts as even",
         "[&](int64_t size) { return «size % ranks != 0»; });\n"
         "}\n\nstd::vector<int64_t> LocalOpBuilder::segmentsOf",
         "false", CHECK_UNEVEN_SHARDING_RULES),
    ],
    "lib/Interfaces/ShardingRule.cpp": [
        ("combiner: of the first result for all",
         "Placement::partial(rule.factors[made.factor].combiners[«result»]);",
         "0", CHECK_BODIES),
        ("slot: the factor's dimension but one",
         "Placement placement = Placement::shard(«dim», isEven ? 1 : minors);",
         "dim ? dim - 1 : dim", CHECK_TENSOR_SHARDING_RULES),
        ("reshape: minor part of a merged dimension split",
         "if («whole != (major == *last ? count : 1)»)",
         "false", CHECK_EVERY_CELL),
        ("reshape: chunks of elements, not of what is left whole",
         "Placement::shard(dim, isEven ? 1 : «minors»);",
         "1", CHECK_UNEVEN_SHARDING_RULES),
        ("reshape: segments of the finer side's sizes",
         "placement.segments.push_back(«segment * minors»);",
         "segment", CHECK_BODIES),
        ("reshape: the segments of one copy only",
         "for (int64_t copy = 0; «copy < majors»; ++copy)",
         "copy < 1", CHECK_TENSOR_SHARDING_RULES),
        ("slice: cut where it begins and ends",
         "«!segments || packed->empty()»",
         "!segments", CHECK_TENSOR_SHARDING_RULES),
        ("a tensor's two dimensions of one factor are both split",
         "if («entry.placement.isShard()»)\n"
         "        cut.why = \"factor \"",
         "false", CHECK_BODIES),
        ("a result's kind is the operand's",
         "entry.placement = Placement::partial(«pass.resultKind»);",
         "pass.kind", CHECK_LINALG_SHARDING_RULES),
        ("inits are laid out by their own dimensions",
         "TensorCut cut = rule.initOf[slot]\n"
         "                      ? «resultCut(rule, *rule.initOf[slot], "
         "strategy)»",
         "cutOf(rule, rule.slotFactors[slot], strategy)",
         CHECK_LINALG_SHARDING_RULES),
        ("operands that pass partial values are replicated",
         "«llvm::is_contained(choice.choice.slots, slot)»",
         "false", CHECK_LINALG_SHARDING_RULES),
    ],
    "lib/Interfaces/BodyLinearity.cpp": [
        ("combiner: sum taken for max",
         "(isa<arith::AddIOp>(combiner) && !isBool))\n"
         "    return «ReductionKind::Sum»;",
         "ReductionKind::Max", CHECK_LINALG_SHARDING_RULES),
        ("combiner: min taken for product",
         "(isa<arith::AndIOp>(combiner) && isBool))\n"
         "    return «ReductionKind::Min»;",
         "ReductionKind::Product", CHECK_LINALG_SHARDING_RULES),
        ("combiner: of bits by sum",
         "«(isa<arith::AddIOp>(combiner) && !isBool)»",
         "isa<arith::AddIOp>(combiner)", BODY_SHARDING_RULES),
        ("partial: a sum plus a number is one",
         "if (isIn(one, {Sum}) && (a.isPartial() || !isSubtraction))\n"
         "      return «both(op)»;",
         "one", CHECK_LINALG_SHARDING_RULES),
        ("partial: a number minus a maximum is one",
         "return a.isPartial() || !isSubtraction ? one : «turned(one)»;",
         "one", CHECK_LINALG_SHARDING_RULES),
        ("partial: integers that wrap keep their order",
         "return «type && "
         "APFloat::semanticsHasInf(type.getFloatSemantics())»;",
         "true", BODY_SHARDING_RULES),
        ("partial: product of two sums",
         "return «isIn(a, {Product})» ? both(op) : Scalar::unknown();\n"
         "    Scalar one = a.isPartial() ? a : b;\n"
         "    Value factor",
         "isIn(a, {Product, Sum})", LINALG_SHARDING_RULES),
        ("partial: product with a maximum",
         "if («isIn(one, {Sum, Avg})»)\n"
         "      return makesInfinity(op, factor)",
         "isIn(one, {Sum, Avg, Max})", CHECK_LINALG_SHARDING_RULES),
        ("partial: an infinite multiple of a sum is one",
         ": «!number.getValue().isFinite()»;",
         "false", BODY_SHARDING_RULES),
        ("partial: a sum divided by zero is one",
         "? «!number.getValue().isNonZero()»",
         "false", BODY_SHARDING_RULES),
        ("partial: a negative multiple of a maximum is one",
         "return number.getValue().isNegative() ? «turned(one)» : one;",
         "one", CHECK_LINALG_SHARDING_RULES),
        ("partial: an infinite multiple of a maximum",
         "«!number.getValue().isFiniteNonZero()»",
         "false", BODY_SHARDING_RULES),
        ("partial: maximum of minima",
         "return «isIn(a, {extremum})» ? both(op) : Scalar::unknown();",
         "isIn(a, {ReductionKind::Max, ReductionKind::Min})",
         CHECK_LINALG_SHARDING_RULES),
        ("partial: maximum of sums",
         "return «isIn(one, {ReductionKind::Max, ReductionKind::Min})»",
         "true", CHECK_LINALG_SHARDING_RULES),
        ("partial: divided by a sum",
         "if («!b.isSame()»)\n"
         "        return Scalar::unknown();\n      if (isIn(a, {Max, Min}))",
         "false", BODY_SHARDING_RULES),
        ("partial: negation keeps max",
         "return isIn(a, {Max, Min}) ? «turned(a)» : Scalar::unknown();",
         "a", LINALG_SHARDING_RULES),
        ("partial: a choice by a partial number",
         "if («!classify(op->getOperand(0)).isSame()»)\n"
         "        return Scalar::unknown();",
         "false", CHECK_LINALG_SHARDING_RULES),
        ("partial: one branch of a choice",
         "if («a.isPartial() && isIdentityConstant(op->getOperand(2), "
         "a.reduction)»)\n        return a;\n"
         "      if (b.isPartial() && isIdentityConstant(op->getOperand(1), "
         "b.reduction))",
         "a.isPartial()", CHECK_LINALG_SHARDING_RULES),
        ("partial: averages of integers pass arithmetic",
         "if («kind == Avg» && !isa<arith::SelectOp>(op)",
         "false", CHECK_UNEVEN_SHARDING_RULES),
        ("partial: products pass a rounding",
         "getIntOrFloatBitWidth() < 16)\n"
         "        return Scalar::unknown();\n"
         "      return «isIn(a, {Product})» ? Scalar::unknown() : a;",
         "false", BODY_SHARDING_RULES),
        ("partial: a fill with 1 is partial as it stands",
         "return «number.getValue().isZero()»;",
         "true", LINALG_SHARDING_RULES),
        ("identity: the largest number is the least",
         "return FloatAttr::get(type, extreme(semantics, "
         "/*isNegative=*/«true»));",
         "false", LINALG_SHARDING_RULES),
        ("identity: sums begin with 0.0",
         "APFloat::getZero(semantics, /*Negative=*/«true»));",
         "false", LOOKUP_OF_NEGATIVE_ZERO),
        ("identity: the greatest finite number is the least",
         "return APFloat::semanticsHasInf(semantics)\n             ? "
         "«APFloat::getInf(semantics, isNegative)»",
         "APFloat::getLargest(semantics, isNegative)", LINALG_SHARDING_RULES),
        ("identity: the least integer is 0",
         "isBool ? APInt(1, 0)\n                                         : "
         "«APInt::getSignedMinValue(width)»",
         "APInt(width, 0)", TENSOR_SHARDING_RULES),
    ],
    "lib/Interfaces/TensorShardingRules.cpp": [
        ("movement: one operand may be partial alone",
         "rule.passthroughs.push_back({kind, «all», kind});",
         "decltype(all)(1, 0u)", CHECK_TENSOR_SHARDING_RULES),
        ("pad: along a padded dimension",
         "if (isConstantIntValue(pad.getMixedLowPad()[dim], 0) &&\n"
         "          «isConstantIntValue(pad.getMixedHighPad()[dim], 0)»)",
         "true", CHECK_TENSOR_SHARDING_RULES),
        ("pad: any number by every rank",
         "return «!isIdentityConstant(padding, pass.kind)»;",
         "false", CHECK_TENSOR_SHARDING_RULES),
        ("slice: in strides",
         "«!isConstantIntValue(op.getMixedStrides()[dim], 1)»)\n"
         "      continue;\n    wholeDims",
         "false", CHECK_TENSOR_SHARDING_RULES),
        ("slice: a dimension that is dropped",
         "if («dropped.test(dim)» || !offset",
         "false", CHECK_TENSOR_SHARDING_RULES),
        ("slice: the rank's part begins where the whole's does",
         "offsets[dim] = local.builder.getIndexAttr(«window.offset»);",
         "0", CHECK_UNEVEN_SHARDING_RULES),
        ("concat: segments in another place",
         "window.offset += «window.size»;",
         "0", TENSOR_SHARDING_RULES),
        ("concat: the joined dimension is one segment",
         "rule.slotFactors[slot][concat.getDim()].window = «window»;",
         "FactorWindow{0, window.size}", TENSOR_SHARDING_RULES),
    ],
    "lib/Interfaces/ArithShardingRules.cpp": [
        ("constants of any numbers are split",
         "if («isa<SplatElementsAttr>(value)») {",
         "true", CHECK_TENSOR_SHARDING_RULES),
        ("constants of any number are partial",
         "if («isIdentityConstant(value, kind)»)\n"
         "          rule.freePartials",
         "true", CHECK_TENSOR_SHARDING_RULES),
    ],
}
