"""Faults in what is computed at compile time: numbers along the row of a mask; and in how
the storage of deep programs is found."""

ROWS = "codegen:NumberRowTest.*"
TABLES = "codegen:RowEvaluatorTest.*"
LIFETIMES = "codegen:PackLifetimesTest.*"
ASSIGN_STORAGE = "Codegen/assign-storage.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Elements/NumberRow.cpp": [
        ("numbers below zero are counted down",
         "«(-rising + step - 1) / step»", "-rising / step", ROWS),
        ("a run goes on wherever its step is the same",
         ": «Wide(last.first.integer) + Wide(run.step) * (begin - lastBegin)» ==",
         "run.first.integer", ROWS),
        ("sums of runs do not wrap around",
         "return «made.fits(type) ? Pieces{{a.size, made}} : Pieces()»;",
         "Pieces{{a.size, made}}", ROWS),
        ("runs below zero are compared without their signs",
         "if («isUnsignedOrder(predicate) && (a.isNegative() || b.isNegative())»)", "false",
         ROWS),
        ("a row that falls changes its sign as one that rises",
         "bool falls = «difference.step < 0»;", "false", ROWS),
        ("a run begins where the row does",
         "«std::prev(run)->end»;", "0", ROWS),
    ],
    "lib/Codegen/Gemm/GemmChoice.cpp": [
        ("an operand is moved whatever other products read it",
         "return «it == gemmsAt.end()» ||", "true", ASSIGN_STORAGE),
    ],
    "lib/Codegen/Memory/PackLifetimes.cpp": [
        ("gaps are sought between blocks in any order",
         "return «a.offset < b.offset»;", "false", LIFETIMES),
    ],
    "lib/Codegen/Elements/NumberOps.cpp": [
        ("the sign of one bit is none",
         ": «fromWidth == 1» ? -given.integer", "false", ROWS),
        ("numbers of few bits have 64",
         ": «llvm::SignExtend64(value, width)»;", "value", ROWS),
    ],
    "lib/Codegen/Elements/RowEvaluator.cpp": [
        ("an index that is divided is linear", "if («!divides» && expr.isPureAffine() &&", "true", TABLES),
        ("a place outside of a table is its first",
         "if («!isInside»)\n      return false;", "false", TABLES),
    ],
}
