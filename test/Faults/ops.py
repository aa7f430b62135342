"""Faults in what single ops mean: roundings, signs of zeros, denormal numbers, the table
of attributes, functions near zero, divisions."""

ROUNDING = "Regression/rounding-modes.test"
ZEROS = "Regression/signed-zero-maxima.test"
ATTENTION = "Codegen/CUDA/attention.test"
DENORMALS = "Regression/denormal-bfloats.test"
ONE_ROUNDING = "Regression/bfloat-on-any-processor.test"
TABLE = "Transforms/Legalize/op-table-invalid.mlir"
PERMISSIONS = "Transforms/Legalize/rounding-modes.mlir"
NEAR_ZERO = "Regression/functions-near-zero.test"
DIVISION = "Regression/quotient-that-overflows.test"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Transforms/Legalize/RoundingModes.cpp": [
        ("upwards is to nearest",
         "step = «select(isNegative, shrunk, grown)»;", "none", ROUNDING),
        ("towards zero is to nearest", "step = «shrunk»;", "none", ROUNDING),
        ("all that was rounded down is a tie",
         "step = select(«isTie(bits, nearest, shrank)», up, none);", "shrank", ROUNDING),
        ("what overflows to NaN has no neighbour",
         "compare(«arith::CmpFPredicate::UNO»,", "arith::CmpFPredicate::AlwaysFalse", ROUNDING),
    ],
    "lib/Transforms/Legalize/OpAttributes.cpp": [
        ("ops that the table refuses are accepted",
         "if («!rule || rule->use == OpUse::Refused»)", "!rule", TABLE),
        ("flags of the program stay",
         "if («known->use != AttributeUse::Dropped» ||", "true", PERMISSIONS),
    ],
    "lib/Codegen/Emit/ElementBody.cpp": [
        ("the signs of zeros are free",
         "auto flags = «arith::FastMathFlags::none»;", "arith::FastMathFlags::nsz", ZEROS),
    ],
    "lib/Codegen/Elements/NumberOps.cpp": [
        ("the first of two zeros is the maximum",
         "return «std::signbit(a) ? b : a»;", "a", ATTENTION),
    ],
    "lib/Codegen/Floats/NarrowFloats.cpp": [
        ("ties of bf16 go down",
         "e.op<arith::AndIOp>(upper, «1»)", "0", DENORMALS),
        ("what a rounding to f32 cut off is forgotten",
         "e.to<arith::BitcastOp>(e.f32(), e.select(isInexact, «odd», bits))", "bits",
         ONE_ROUNDING),
    ],
    "lib/Codegen/Emit/LowerMath.cpp": [
        ("a divisor of zero is divided by",
         "arith::SelectOp::create(builder, loc, faults, «one», divisor)", "divisor", DIVISION),
    ],
    "lib/Codegen/CPU/LowerKernels.cpp": [
        ("expm1 is exp minus 1",
         "«target.addIllegalOp<math::ExpM1Op, math::Log1pOp>();»", "(void)0;", NEAR_ZERO),
    ],
}
