"""Faults in what several entries of a model share: layouts, memory orders, joined weights, places."""

LAYOUTS = "Transforms/Propagate/several-entries.mlir"
PROGRAMS = "Codegen/several-entries.mlir"
MERGED = "EndToEnd/Entries/merged.test"
LAYERS = "EndToEnd/Entries/layers.test"
TOOLS = "EndToEnd/Entries/tools.test"
TWO = "EndToEnd/several-entries.test"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Transforms/Propagate/Problem/PortChoices.cpp": [
        ("a shared argument has a layout for each entry",
         "if («first && (relaxed.empty() || canBeEqual(number, *first))»)",
         "false", LAYOUTS),
    ],
    "lib/Transforms/Propagate/Graph/ValueCalls.cpp": [
        ("all entries run equally often",
         ": «graph.entryCalls[entryOf[value]]»);",
         "int64_t(1)", LAYOUTS),
    ],
    "lib/Transforms/Propagate/VerifyAssignment.cpp": [
        ("a shared argument of two layouts passes",
         "if («layoutOf(each) == layoutOf(tensor.front())»)",
         "true", LAYOUTS),
    ],
    "lib/Codegen/Program/AssignStorage.cpp": [
        ("entries do not agree on the order of a weight",
         "if («failed(agreeOnOrders(functions, traits))»)",
         "false", PROGRAMS),
        ("an entry that does not read a weight wants an order of it",
         "if («function.getArgument(argument).use_empty()» &&",
         "false", PROGRAMS),
    ],
    "lib/Codegen/CodegenPlan.cpp": [
        ("constants of two entries are in one place",
         "entry->constantsAt = «constants»;",
         "int64_t(0)", PROGRAMS),
    ],
    "lib/Codegen/Artifact/MakeManifest.cpp": [
        ("a shared argument is there for each entry",
         "if («*known >= 0») {\n      entry.signature",
         "false", PROGRAMS),
        ("what the last entry does not read is dead",
         "known->dead &= «port.dead»;",
         "(known->dead = port.dead)", PROGRAMS),
        ("an input that two entries have is one",
         "if («!port->isWeight() && !shared.tensorOf(number, i)») {",
         "false", TWO),
    ],
    "lib/Codegen/Gemm/MergeGemms.cpp": [
        ("weights are joined that another entry reads apart",
         "if («!function.getArgument(each.argument).use_empty()»)",
         "false", PROGRAMS),
        ("weights are joined that another entry has in part",
         "return «there != 0 && there != group.products.size()»;",
         "false", MERGED),
    ],
    "lib/Transforms/Layers/RepeatLayers.cpp": [
        ("the layers of one of two entries are not put back",
         "if («!one.unfold(function)»)",
         "false", LAYERS),
    ],
    "lib/Pipelines/Reports/Report.cpp": [
        ("the weights of all entries are added up",
         "all.arenaBytes = std::max(all.arenaBytes, entry.memory.arenaBytes);\n"
         "    all.peakLiveBytes = «std::max(all.peakLiveBytes, entry.memory.peakLiveBytes)»;",
         "(all.peakLiveBytes + entry.memory.peakLiveBytes)", TOOLS),
        ("what entries bind alike is listed for each",
         "if («seen.insert(llvm::formatv(\"{0}\", row).str()).second»)",
         "true", TOOLS),
    ],
}
