"""Faults in the gradients of attention."""

FORMS = "Python/Training/attention.test"
LIT = "Codegen/CPU/attention-backward.mlir"
FEWER = "Regression/fewer-keys.test"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Attention/Backward/BackwardForm.cpp": [
        ("a factor of the keys counts twice",
         "«rows.factor» * (ofKeys ? form.qFactor : form.kFactor) / with.factor;",
         "rows.factor * rows.factor", FORMS),
        ("what a select hides is hidden by any number",
         "if (isTerm && («std::isinf(term.factor) || !isAdded»))",
         "true", FORMS),
        ("numbers that are added leave the logarithm its digits",
         "if («!llvm::all_of(form.bias, addsNoNumber)»)",
         "false", FORMS),
        ("weights that something else reads may go",
         "if («reached[i]->hasTrait<OpTrait::IsTerminator>()»)",
         "false", FORMS),
        ("queries and keys are one another",
         "const ScaledElement &with = «ofKeys ? q : k»;",
         "ofKeys ? k : q", LIT),
        ("the mean is added",
         "sums->back() != expected(«-1.0», &meanMark))",
         "1.0", LIT),
        ("the mean has the other sign",
         "mean.factor = «product.factor»;",
         "-product.factor", LIT),
        ("values of another type are a gradient",
         "(«type == form.elementType || type == form.sumType»);",
         "type == form.elementType", FORMS),
    ],
    "lib/Codegen/Attention/Backward/BackwardBuilder.cpp": [
        ("a query without keys has NaN for weights",
         "if («form.emptyRows != EmptyRows::Zero»)\n          return sum;",
         "true", FORMS),
        ("the product's factor is left out",
         "if («product.factor != 1.0»)",
         "false", FORMS),
        ("the logarithm is that of the maximum",
         "{columnsOf(state, size, 1), columnsOf(state, «size + 1», 1)}, identities(3),",
         "size", LIT),
        ("a result is made where its gradient is",
         "builder.setInsertionPoint(«form.result.getDefiningOp()»);\n"
         "  replaceResult(result);",
         "backward.first()", FORMS),
    ],
    "lib/Codegen/Attention/Backward/ElementSums.cpp": [
        ("what is subtracted is added",
         "isa<arith::SubFOp>(element->op) ? «-1.0» : 1.0);",
         "1.0", LIT),
        ("an inverse keeps its exponents",
         "product.powers[element] = «-exponent»;",
         "exponent", LIT),
    ],
    "lib/Codegen/Attention/AttentionCommand.cpp": [
        ("keys that no step reads are in memory",
         "attention.keys = «endKeys - beginKeys»;",
         "attention.keys", FEWER),
        ("a bound is that of the first key in memory",
         "**bound -= «beginKeys»;",
         "int64_t(0)", FEWER),
    ],
    "lib/Codegen/Program/Buffers.cpp": [
        ("the backward pass is no command",
         "(isTopCommand(op) && «!isa<tp::AttentionOp>(op)»);",
         "!isa<tp::AttentionOp, tp::AttentionBackwardOp>(op)", LIT),
    ],
}
