"""Faults in states that stay on the ranks: which are in place, in what order
commands run then, and what of them is written."""

AGREE = "Codegen/CPU/agree.mlir"
UPDATE_IN_PLACE = "Codegen/update-in-place.mlir"
SCHEDULE = "Codegen/schedule.mlir"
NO_SCHEDULE = "Codegen/schedule-invalid.mlir"
WRITE_PARTS = "Codegen/write-parts.mlir"
RANDOM_STATES = "EndToEnd/States/random-states.test"
SAVED = "EndToEnd/States/save-and-load.test"
BAD_STATE = "EndToEnd/States/bad-state.test"
INVALID = "Codegen/hand-written-invalid.mlir"
OVERWRITTEN = "Regression/overwritten.test"
JOINED = "Regression/joined.test"
ROLLED = "Regression/rolled-state.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Artifact/Checks.cpp": [
        ("ranks agree before the checks", "«lastCheck->command < firstWrite->command»",
         "true", AGREE),
        ("ranks agree behind the writes", "if («!firstWrite» && writesArgument",
         "true", AGREE),
    ],
    "lib/Codegen/Kernels/KernelGroups.cpp": [
        ("a kernel checks and updates", "(«node.checks» && writesUpdates(kernel))",
         "false", AGREE),
    ],
    "tools/tp-run/Data/SavedState.cpp": [
        ("what no step updates is state too",
         "if (port.dead || «!updated.contains(entry.tensorOf(int64_t(i)))»)",
         "false", SAVED),
        ("a missing state is no error",
         "if («!lacking.empty()»)",
         "false", BAD_STATE),
        ("a tensor too many is no error",
         "if («!unknown.empty()»)",
         "false", BAD_STATE),
        ("a state of another shape is taken",
         "if (Status status = «checkArray(port, port.shape, array,\n"
         "                                   path + \": tensor '\" + key + \"'\")»;",
         "Status()", BAD_STATE),
        ("what was loaded is saved",
         "if (auto update = updates.find(argument); «update != updates.end()»)\n"
         "    return gatherResult",
         "false", SAVED),
    ],
    "tools/tp-run/Data/InputLoader.cpp": [
        ("an input hides what was loaded",
         "if («!parts[indices[i]].empty()»)\n      return invalidArgument(",
         "false", BAD_STATE),
    ],
    "lib/Codegen/Schedule/Schedule.cpp": [
        ("the order is not changed",
         "«order.apply()»;",
         "void()", SCHEDULE),
        ("what has no order is scheduled",
         "if (auto conflict =\n"
         "            «order.require(order.readsBeforeWrites(next.getMemory(), next))»)",
         "std::optional<CommandOrder::Pair>()", NO_SCHEDULE),
        ("a state in memory of its own ends the search",
         "if (!next || !next.getMemory())\n      «continue;»",
         "break;", SCHEDULE),
    ],
    "lib/Codegen/Memory/CommandOrder.cpp": [
        ("no command comes before the one that writes a state",
         "pairs.push_back({«reader», writer});",
         "0u", SCHEDULE),
        ("a command comes before itself",
         "if («reader != writer»)\n        pairs.push_back",
         "true", UPDATE_IN_PLACE),
        ("what is read later is overwritten",
         "llvm::for_each(«uses.readersSince», after);",
         "SmallVector<unsigned>()", SCHEDULE),
        ("what depends on a moved command stays",
         "if («place[command] < to && moved.insert(command).second»)",
         "false", SCHEDULE),
        ("readers of a part do not wait for its writer",
         "if («uses.lastWriter»)\n        after(*uses.lastWriter);\n      uses.readersSince",
         "std::optional<unsigned>()", SCHEDULE),
    ],
    "lib/Codegen/Memory/UpdateInPlace.cpp": [
        ("a kernel writes a state before it reads it",
         "if («!may.value_or(false)»)\n      return nameOf(command) +",
         "false", UPDATE_IN_PLACE),
        ("one of two swapped states is not copied",
         "if (auto conflict = «order.require(order.readsBeforeWrites(old, next))»)",
         "std::optional<CommandOrder::Pair>()", UPDATE_IN_PLACE),
        ("what is joined is updated in place",
         "if («joined.contains(argument)»)",
         "false", UPDATE_IN_PLACE),
        ("a state of another layout is updated in place",
         "if («program.getArgAttr(argument, name) !=\n"
         "        program.getResultAttr(result, name)»)",
         "false", UPDATE_IN_PLACE),
        ("a result in another order is a next value",
         "if («program.getArgumentTypes()[argument] != program.getResultTypes()[result]»)",
         "false", UPDATE_IN_PLACE),
        ("a state that is not in place has no reason",
         "program.setResultAttr(result, tp::attr::copied,\n"
         "                            StringAttr::get(program.getContext(), «*reason»));",
         "\"\"", UPDATE_IN_PLACE),
    ],
    "lib/Codegen/Memory/ChangedPart.cpp": [
        ("any comparison is one for equality",
         "if (!compare || «compare.getPredicate() != arith::CmpIPredicate::eq»)",
         "false", WRITE_PARTS),
        ("a part is longer than what changes",
         "return add(a->loop, start, «1»);",
         "2", WRITE_PARTS),
        ("a slice may leave its tensor at the end",
         "arith::ConstantIndexOp::create(builder, loc, «shape[i] - size»));",
         "shape[i]", WRITE_PARTS),
        ("a slice goes into any value",
         "if («!isState(op.getDest(), Indices(index))»)",
         "false", WRITE_PARTS),
        ("any value is the old one",
         "return operand && isa<RankedTensorType>(operand->get().getType()) &&\n"
         "         «isState(operand->get(), operandIndex(operand, *body))» &&restrict(",
         "true", WRITE_PARTS),
        ("a slice may leave its tensor",
         "builder, loc, start, «arith::ConstantIndexOp::create(builder, loc, 0)»);",
         "Value(start)", WRITE_PARTS),
    ],
    "lib/Codegen/Memory/WriteParts.cpp": [
        ("the old value and the new one are read in one place",
         "if («oldIsRead && !compute->use_empty()»)",
         "false", WRITE_PARTS),
        ("a part reads what it overwrites",
         "if (failed(may) || «!*may»)",
         "false", WRITE_PARTS),
        ("a part is written before the old value is read",
         "«alone->moveAfter(kernel)»;",
         "void()", RANDOM_STATES),
        ("what only the part needed stays",
         "«removeUnused(block)»;",
         "void()", WRITE_PARTS),
    ],
    "lib/Transforms/Propagate/Problem/PortChoices.cpp": [
        ("what updates an argument has chunks of its own",
         "if («node.tiedTo»)\n    for",
         "std::optional<unsigned>()", ROLLED),
    ],
    "lib/Transforms/Propagate/Graph/Pins.cpp": [
        ("what updates an argument has the plan's chunks",
         "|| «attributes.contains(attr::updates)»",
         "false", ROLLED),
    ],
    "lib/Codegen/Emit/ElementEmitter.cpp": [
        ("a clamped element is read from memory",
         "auto known = «clamped.empty()»",
         "true", JOINED),
    ],
    "lib/Codegen/CUDA/Kernels/KernelPointwise.cpp": [
        ("checks count in threads without an element of their own",
         "emitter.isOwn = «valid»;",
         "Value()", OVERWRITTEN),
    ],
    "lib/Codegen/CUDA/Kernels/KernelBody.cpp": [
        ("a number is written before all threads have read it",
         "if («overwrites && point.valid»)",
         "false", OVERWRITTEN),
    ],
    "lib/Codegen/Memory/CheckInPlace.cpp": [
        ("a state is read after it was written",
         "if («!writer»)\n    return success();",
         "true", INVALID),
    ],
}
