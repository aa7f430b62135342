"""Faults in the queues of a device: what commands of one wait for of the other."""

INSERT_WAITS = "Codegen/insert-waits.mlir"
INVALID = "Codegen/insert-waits-invalid.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Schedule/InsertWaits.cpp": [
        ("no command waits",
         "if (haveConflict(touched[command], touched[others[count - 1]]))\n"
         "      return «count»;",
         "ended", INSERT_WAITS),
        ("a command waits again for what has ended",
         "«ended[of] = needed;»\n    command.waitFor",
         "", INSERT_WAITS),
        ("the end of the step does not wait",
         "«queues.endWaitsFor = collectives.back();»",
         "", INSERT_WAITS),
        ("collectives that share memory start as one",
         "!command.waitFor && «!conflictWithin(first, i)»;",
         "true", INSERT_WAITS),
        ("a collective that waits starts with others",
         "«!command.waitFor» && !conflictWithin",
         "true", INSERT_WAITS),
        ("a gather into several blocks starts with others",
         "!(«inBlocks && blocks.outer > 1»);",
         "false", INSERT_WAITS),
        ("waits by hand are not checked",
         "if («needed == ended[of]»)\n      continue;\n    InFlightDiagnostic",
         "true", INVALID),
        ("a wait for any command is enough",
         "known = std::max(known, «countUpTo(*command)»);",
         "ofQueue[unsigned(queues.commands[*command].queue)].size()", INVALID),
        ("the end by hand does not wait",
         "wait(queues.endWaitsFor);\n"
         "  const auto &collectives = ofQueue[unsigned(tp::Queue::Communication)];\n"
         "  if («collectives.size() > ended[unsigned(tp::Queue::Communication)]»)",
         "false", INVALID),
        ("collectives that start as one by hand share memory",
         "if («!conflict»)\n      continue;",
         "true", INVALID),
        ("memory without offsets is at one place",
         "«!alloc.getOffset()»)",
         "false", INVALID),
    ],
    "lib/Codegen/Schedule/TouchedMemory.cpp": [
        ("two that read wait for each other",
         "return «(a.writes || b.writes)» &&",
         "true", INSERT_WAITS),
        ("a part of a buffer is at its start",
         "place.offset += «offset * bytes»;",
         "0", INSERT_WAITS),
        ("steps of an attention touch nothing",
         "if («isTopCommand(&step)»)\n        addCommand",
         "false", INSERT_WAITS),
        ("a kernel writes nothing",
         "bool writes = «i >= numReads»;",
         "false", INSERT_WAITS),
    ],
    "lib/Codegen/Schedule/CommandQueues.cpp": [
        ("any queue runs a command",
         "if («queue != expected»)",
         "false", INVALID),
        ("a second wait is forgotten",
         "if («waiting») {",
         "tp::WaitOp()", INVALID),
        ("a wait behind the last command is forgotten",
         "if (tp::WaitOp wait = «next[unsigned(tp::Queue::Communication)]»)",
         "tp::WaitOp()", INVALID),
        ("one that starts with others may wait",
         "if («next[unsigned(tp::Queue::Communication)]»)\n"
         "    return op->emitOpError(\"starts",
         "tp::WaitOp()", INVALID),
    ],
    "lib/Codegen/Artifact/Commands.cpp": [
        ("the manifest has no waits",
         "command.waitFor = «number(queued.waitFor)»;",
         "std::nullopt", INSERT_WAITS),
        ("the manifest starts all collectives one by one",
         "command.withPrevious = «queued.withPrevious»;",
         "false", INSERT_WAITS),
    ],
    "lib/Codegen/Program/VerifyProgram.cpp": [
        ("processors have queues",
         "if («hasQueues(traits)»)\n    return success();",
         "true", INVALID),
    ],
}
