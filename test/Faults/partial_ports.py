"""Faults in arguments and results that are partial: which may be, and what tp-run makes of them."""

PORTS = "EndToEnd/partial-ports.test"
BAD_PLAN = "BadInputs/plans.test"
VERIFIER = "Transforms/Plan/verify-bound.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Transforms/Plan/Ports/PartialPorts.cpp": [
        ("a parameter is partial",
         "if («arguments.isParameterOrState(port)» || kind == \"buffer\" ||",
         "false", VERIFIER),
        ("a buffer is partial",
         "arguments.isParameterOrState(port) || «kind == \"buffer\"» ||",
         "false", BAD_PLAN),
        ("a state is partial",
         "const auto *update = updates.find(port); «update != updates.end()»)",
         "false", BAD_PLAN),
        ("the next value of a state is partial",
         "} else if (std::optional<unsigned> updated =\n"
         "                 «arguments.updatedBy(results, port)») {",
         "std::optional<unsigned>()", BAD_PLAN),
        ("two axes are partial in two ways",
         "other && pin.getName() != axis && «other.getValue().isPartial()» &&",
         "false", VERIFIER),
        ("integers are averaged",
         "return «isa<FloatType>(element)» ? \"\" : \"floats\";",
         "true", BAD_PLAN),
        ("unsigned integers are compared as signed ones",
         "return «isUnsigned && !isBool»",
         "false", BAD_PLAN),
        ("booleans are added up",
         "return «identityOf(kind, element)» ? \"\" : \"floats or integers\";\n"
         "  case ReductionKind::Max:",
         "identityOf(ReductionKind::Max, element)", BAD_PLAN),
    ],
    "tools/tp-run/Data/Results.cpp": [
        ("one rank's addend is the result",
         "use(ReducedBuffer(port, «buffers»).data());",
         "std::vector<const char *>{buffers.front()}", PORTS),
    ],
    "lib/Codegen/Artifact/DescribeLayout.cpp": [
        ("a maximum is described as a sum",
         "«return rt::Reduction::Max;»",
         "return rt::Reduction::Sum;", PORTS),
    ],
}
