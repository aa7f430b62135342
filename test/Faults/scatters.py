"""Faults in scatters: what is found to be one, and its code."""

WRITE_PARTS = "Codegen/write-parts.mlir"
FORM_SCATTERS = "Codegen/form-scatters.mlir"
SCATTERS = "Codegen/CPU/scatters.test"
ON_DEVICES = "Codegen/CUDA/kernel-cases.test"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Elements/LoopSum.cpp": [
        ("a rank's indices begin at 0",
         "if («!sum.scalar»)\n    return number;",
         "true", WRITE_PARTS),
        ("an index wraps around in a narrow type",
         "if («extentOf(*operands[0].loop) > mostIndices(to)» ||",
         "false", FORM_SCATTERS),
    ],
    "lib/Codegen/Scatter/ScatterFinder.cpp": [
        ("what a comparison leaves is not asked",
         "return «!WhereUnequal(graph, op, yielded, loops, comparison).keepsAll()»;",
         "false", SCATTERS),
        ("a check about elements is one about updates",
         "read |= «condition->loops»;",
         "0", FORM_SCATTERS),
    ],
    "lib/Codegen/Scatter/WhereUnequal.cpp": [
        ("adding 0.0 keeps every number",
         "return constant && «!constant.getValue().isNegZero()»;",
         "true", SCATTERS),
        ("what is added first is kept",
         "result.element->kind != Element::Kind::Accumulator ||\n"
         "        «result.element->value != op->getResult(number)»)", "false", FORM_SCATTERS),
    ],
    "lib/Codegen/CPU/KernelScatter.cpp": [
        ("a place outside of the result is written",
         "«arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, place,\n"
         "                                emitter.constant(extent))»;",
         "arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, place,\n"
         "                                emitter.constant(0))", SCATTERS),
        ("places are read before the loops that they depend on",
         "known = std::max<unsigned>(known, «i + 1»);",
         "0", SCATTERS),
        ("elements that no update is for are not written",
         "levels(loopNest, elements, [&] { «initialise(computeLoop);» });",
         "", SCATTERS),
    ],
    "lib/Codegen/CUDA/Kernels/KernelScatter.cpp": [
        ("a thread writes what another one owns",
         "from = arith::SubIOp::create(builder, loc, place, «begin»);",
         "integer(0, 64)", ON_DEVICES),
        ("the last updates are forgotten",
         "int64_t whole = count - count % updatesAtOnce;\n  if (whole)\n    strided(integer(0), "
         "updatesAtOnce, «whole», {},", "whole - updatesAtOnce", ON_DEVICES),
    ],
}
