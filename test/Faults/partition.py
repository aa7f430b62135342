"""Faults in layouts, the way between them, and the program of one rank."""

MESH_TESTS = "sharding:Mesh.*"
REDISTRIBUTION_PATH_TESTS = "sharding:RedistributionPath.*"
CHEAPEST_PATH_TESTS = "sharding:CheapestPath.*"
LAYOUT_TESTS = "sharding:Layout.*"
MATERIALIZE = "Transforms/Redistribute/materialize.mlir"
INSERT_COLLECTIVES = "Transforms/Redistribute/insert-collectives.mlir"
LOCAL_COLLECTIVES = "Transforms/Partition/local-collectives.mlir"
COLLECTIVE_BYTES = "IR/collective-bytes.mlir"
PARTITION = "Transforms/Partition/partition.mlir"
EDGE_REDISTRIBUTIONS = "Regression/identities-of-sums.test"
CONTEXT_PARALLEL = "Transforms/Plan/context-parallel.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Sharding/Mesh.cpp": [
        ("the blocks of another group of ranks",
         "coordinates[part.axis] += position % part.size * «minor»;",
         "1", REDISTRIBUTION_PATH_TESTS),
        ("the first axis counts fastest",
         "position = «position * axes[i].size + coordinates[i]»;",
         "position + coordinates[i] * (i ? axes[i - 1].size : 1)", MESH_TESTS),
        ("the device order is forgotten",
         "return «deviceOrder.empty()» ? position : deviceOrder[position];",
         "true", MESH_TESTS),
        ("the device order is read backwards",
         "position = «std::find(deviceOrder.begin(), deviceOrder.end(), "
         "rank) -\n               deviceOrder.begin()»;",
         "deviceOrder[rank]", REDISTRIBUTION_PATH_TESTS),
        ("a part of an axis counts its minor ranks",
         "return coordinates(rank)[part.axis] / «minor» % part.size;",
         "1", MESH_TESTS),
        ("a group is every rank of a minor part",
         "key[part.axis] -= «c * minor»;",
         "c", MESH_TESTS),
        ("a group's ranks in the order of their numbers",
         "groups[key].emplace_back(«position», rank);",
         "rank", MESH_TESTS),
    ],
    "lib/Sharding/Layout.cpp": [
        ("chunks are rounded down",
         "return std::min<int64_t>(«llvm::divideCeil(units, count)» * unit, "
         "size);",
         "std::max<int64_t>(1, units / count)", LAYOUT_TESTS),
        ("units are rounded down",
         "int64_t units = «llvm::divideCeil(size, unit)»;",
         "size / unit", LAYOUT_TESTS),
        ("a rank's part is as large as its chunk",
         "valid = «std::min(chunk, valid - start)»;",
         "chunk", LAYOUT_TESTS),
        ("segments are held one after the other by all ranks",
         "localStart += «chunk»;",
         "segment", LAYOUT_TESTS),
        ("the second segment starts where the first does",
         "segmentStart += «segment»;",
         "0", LAYOUT_TESTS),
        ("a new shard is the major one",
         "«entries.push_back({part, placement});»\n"
         "  }\n  canonicalize();",
         "entries.insert(entries.begin(), {part, placement});", LAYOUT_TESTS),
        ("the order of nesting is the mesh's",
         "if (entry.placement.isShard())\n"
         "      «entry = next(entry.placement.dim);»",
         "(void)next;", LAYOUT_TESTS),
        ("parts of one axis may overlap",
         "if («part.major != covered»)",
         "false", LAYOUT_TESTS),
        ("segments may add up to anything",
         "if («sum != shape[placement.dim]»)",
         "false", LAYOUT_TESTS),
    ],
    "lib/Sharding/LayoutChange.cpp": [
        ("partial values of other kinds say the same",
         "if («partialEntries(a) != partialEntries(b)»)",
         "false", REDISTRIBUTION_PATH_TESTS),
        ("an axis is cut where its parts do not nest",
         "«place % part.major == 0 && (part.major * part.size) % place == 0»",
         "true", REDISTRIBUTION_PATH_TESTS),
        ("the minor part of a cut is the major one",
         "return {{part.axis, part.major, «place / part.major»},",
         "part.major * part.size / place", REDISTRIBUTION_PATH_TESTS),
        ("a permutation that one group needs is for all",
         "if («result && *result != sources»)",
         "false", REDISTRIBUTION_PATH_TESTS),
        ("a permutation sends one block twice",
         "isTaken[position] = «true»;",
         "false", REDISTRIBUTION_PATH_TESTS),
    ],
    "lib/Sharding/FixedOrderPath.cpp": [
        ("partial values are reduced as sums",
         "      kind = «placement.reduction»;\n"
         "      parts.insert",
         "ReductionKind::Sum", REDISTRIBUTION_PATH_TESTS),
        ("values of two kinds are reduced at once",
         "if («!parts.empty() && placement.reduction != kind»)",
         "false", REDISTRIBUTION_PATH_TESTS),
        ("what combines first is reduced last",
         "return «kind == placement.reduction»;\n"
         "                     });",
         "true", REDISTRIBUTION_PATH_TESTS),
        ("a shard in the way is left there",
         "if («agreeing(dim) != done»)",
         "false", REDISTRIBUTION_PATH_TESTS),
        ("a slice of what is no whole value",
         "return «entry && entry->placement.isReplicate()»;",
         "entry != nullptr", REDISTRIBUTION_PATH_TESTS),
        ("scattering what is not reduced yet",
         "return «llvm::is_contained(reduced, part)»;",
         "true", REDISTRIBUTION_PATH_TESTS),
        ("a gather of the major part",
         "LayoutStep step(StepKind::AllGather, {«leaving(*chosen).back()»});",
         "leaving(*chosen).front()", REDISTRIBUTION_PATH_TESTS),
        ("gathers of two parts in the wrong order",
         "parts.insert(«parts.begin()», next.parts.begin(), "
         "next.parts.end());\n      break;\n"
         "    case StepKind::LocalSlice:",
         "parts.end()", REDISTRIBUTION_PATH_TESTS),
        ("the target's units are taken over where they differ",
         "while (count > 0 &&\n           «!sameShards(mesh, shape[dim], "
         "dim, majorShards(current, dim, count),\n"
         "                       majorShards(target, dim, count))»)",
         "false", REDISTRIBUTION_PATH_TESTS),
        ("no value is made partial",
         "«placement.isPartial() && entry» && entry->placement.isReplicate())",
         "false", REDISTRIBUTION_PATH_TESTS),
    ],
    "lib/Sharding/StepCost.cpp": [
        ("an exchange between dimensions costs what a gather does",
         "elements *= «kind == StepKind::AllToAll && "
         "static_cast<int64_t>(at) == dim»",
         "false", CHEAPEST_PATH_TESTS),
    ],
    "lib/Sharding/LayoutSearch.cpp": [
        ("the bound counts what a rank has already",
         "most = std::max(most, «needed - there»);",
         "needed", CHEAPEST_PATH_TESTS),
        ("a permutation is never tried",
         "if («!isPermuted && "
         "!isTooDear(moves.costOfPermute(here).primary)»)",
         "false", CHEAPEST_PATH_TESTS),
    ],
    "lib/Sharding/LayoutMoves.cpp": [
        ("values become partial only as the target has them",
         "if («isThere»)",
         "false", CHEAPEST_PATH_TESTS),
    ],
    "lib/Sharding/AxisChains.cpp": [
        ("an uneven shard is cut anywhere",
         "if («beforeLast[i] > shard.unit && chunks[i] != part.size * "
         "next[i]»)",
         "false", CHEAPEST_PATH_TESTS),
        ("ranks without elements are not seen",
         "while («size < whole.size && whole.size % size»)",
         "size < whole.size", CHEAPEST_PATH_TESTS),
    ],
    "lib/Sharding/ShardBlocks.cpp": [
        ("padding before the elements",
         "«result.add(segment.bufferStart + run.bufferOffset, run.size);\n"
         "      result.add(-1, segment.blockSize - run.size);»",
         "result.add(-1, segment.blockSize - run.size); "
         "result.add(segment.bufferStart + run.bufferOffset, run.size);",
         REDISTRIBUTION_PATH_TESTS),
        ("blocks are compacted as if they had no padding",
         "result.add(«position * blocks.blockSize» + segment.blockStart,",
         "position * (blocks.blockSize - 1)", REDISTRIBUTION_PATH_TESTS),
        ("segments are put together rank by rank",
         "result.add(position * blocks.blockSize + «segment.blockStart»,",
         "0", REDISTRIBUTION_PATH_TESTS),
        ("two stretches with a gap are one",
         "«last.offset + last.size == offset»",
         "last.offset <= offset", REDISTRIBUTION_PATH_TESTS),
    ],
    "lib/Transforms/Redistribute/Materialize.cpp": [
        ("sums are reduced where they are used",
         "«builder.setInsertionPointAfter(maker);»",
         "(void)0;", MATERIALIZE),
        ("partial values are not reduced",
         "if («current == layout»)\n"
         "      return value;",
         "current == layout || (current.hasPartial() && "
         "layout.isReplicated())", MATERIALIZE),
        ("the second operand in the layout of the first",
         "rule->slotLayout(«slot», strategy.getValue());",
         "(slot == 1 ? 0 : slot)", MATERIALIZE),
        ("a partial value is reduced for every use",
         "else if («current.hasPartial() && reduced.contains(value)»)",
         "false", MATERIALIZE),
        ("a use after a pin reads the value before it",
         "Value value = «pinned == forwarded.end()» ? need.value",
         "true", MATERIALIZE),
        ("results come in the layout they were made in",
         "needs.push_back({op, &operand, operand.get(), «layout»});",
         "produced[operand.get()]", MATERIALIZE),
    ],
    "lib/Transforms/Redistribute/InsertCollectives.cpp": [
        ("no gather is one of a ring",
         "{attr::reason, attr::cause, attr::gather, «attr::ring»})",
         "llvm::StringLiteral(attr::reason)", CONTEXT_PARALLEL),
        ("exchange: the dimensions swapped",
         "return AllToAllOp::create(builder, loc, type, value, «step.dim»,",
         "step.sourceDim", INSERT_COLLECTIVES),
    ],
    "lib/IR/Collectives/CollectiveBytes.cpp": [
        ("a collective sends no more than its buffers have",
         "if («!from || !to»)\n    return elementsOfBlocks(op);",
         "true", COLLECTIVE_BYTES),
        ("padding is payload before tp-partition",
         "if («from && to»)\n    return std::max(",
         "false", COLLECTIVE_BYTES),
    ],
    "lib/Transforms/Partition/LocalCollectives.cpp": [
        ("every rank cuts the first slice",
         "  offsets[dim] = «offset»;\n",
         "OpFoldResult(isa<Attribute>(offset) ? offset : "
         "OpFoldResult(builder.getIndexAttr(0)))", LOCAL_COLLECTIVES),
        ("slices overlap by one",
         "arith::ConstantIndexOp::create(builder, loc, «segment.blockSize»));",
         "segment.blockSize - 1", LOCAL_COLLECTIVES),
        ("all but the first rank keep a value",
         "arith::CmpIOp::create(builder, loc, «arith::CmpIPredicate::eq»,",
         "arith::CmpIPredicate::ne", PARTITION),
        ("all but the first rank hold the identity of products",
         "TypedAttr identity = identityOf(«kind», type.getElementType());",
         "ReductionKind::Product", EDGE_REDISTRIBUTIONS),
        ("the bytes of padding are counted",
         "if (int64_t held = payloadElements(op); «held < larger»)",
         "false", LOCAL_COLLECTIVES),
        ("scattered blocks are not padded",
         "FailureOr<Value> sent = «compose(source, dim, "
         "blocksFromBuffer(shards))»;",
         "FailureOr<Value>(source)", LOCAL_COLLECTIVES),
        ("gathered blocks keep their padding",
         "return «compose(received, dim, bufferFromBlocks(shards))»;",
         "FailureOr<Value>(received)", LOCAL_COLLECTIVES),
        ("an exchange is compacted along the dimension it splits",
         "return compose(blocks, «put», bufferFromBlocks(received));",
         "split", LOCAL_COLLECTIVES),
        ("all pieces from the front of a buffer",
         "pieces.push_back(slice(value, dim, "
         "builder.getIndexAttr(«stretch.offset»),",
         "0", LOCAL_COLLECTIVES),
    ],
}
