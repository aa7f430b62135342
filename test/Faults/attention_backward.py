"""Faults in the gradients of attention."""

FORMS = "Python/Training/attention.test"
LIT = "Codegen/CPU/attention-backward.mlir"
FEWER = "Regression/fewer-keys.test"
RING = "Codegen/Attention/ring-backward.mlir"
RANDOM = "Python/Plans/ring.test"
CONTEXT = "Python/Plans/context.test"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Codegen/Attention/Backward/BackwardForm.cpp": [
        ("a factor of the keys counts twice",
         "«rows.factor» * (ofKeys ? form.qFactor : form.kFactor) / with.factor;",
         "rows.factor * rows.factor", FORMS),
        ("what a select hides is hidden by any number",
         "if (isTerm && («std::isinf(term.factor) || !isAdded»))",
         "true", FORMS),
        ("queries that are padding are no others than those of another product",
         "if («found.queries && found.queries->counts != prefix.counts»)",
         "found.queries.has_value()", RANDOM),
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
    "lib/Codegen/Attention/Backward/GradientBuilder.cpp": [
        ("a query without keys has NaN for weights",
         "if («form.emptyRows == EmptyRows::Zero»)",
         "false", FORMS),
        ("padding adds to the gradients of keys",
         "if («!backward.queries»)",
         "true", RANDOM),
        ("the product's factor is left out",
         "if («product.factor != 1.0»)",
         "false", FORMS),
        ("the logarithm is that of the maximum",
         "{columnsOf(state, size, 1), columnsOf(state, «size + 1», 1)},\n"
         "      {first,",
         "size", LIT),
    ],
    "lib/Codegen/Attention/Backward/BackwardBuilder.cpp": [
        ("a result is made where its gradient is",
         "builder.setInsertionPoint(«form.result.getDefiningOp()»);\n"
         "  replaceResult(result);",
         "backward.first()", FORMS),
    ],
    "lib/Codegen/Attention/Backward/RingGradient.cpp": [
        ("a collective that adds nothing up is a sum",
         "«scatter.getReduction().getValue() != tp::ReductionKind::Sum» ||",
         "false", RING),
        ("an op that counts keys counts those of a chunk",
         "return starts && «!numbersKeys» ? found",
         "true", RING),
        ("what is done with gradients is left out",
         "operands.push_back(«input->get() == whole» ? chunk : input->get());",
         "false", RING),
    ],
    "lib/Codegen/Attention/RingAttention.cpp": [
        ("the backward pass keeps the chunks of the forward pass",
         "if («isBackward»)",
         "false", RING),
        ("a rank's own part of a gradient is left out",
         "«sum(each.own, rotated(each.others, scatter))» : each.own;",
         "Value(rotated(each.others, scatter))", RING),
        ("the gradient of queries is that of the last chunk",
         "/*onto=*/«queryGradient», builder",
         "Value()", RING),
        ("a gradient stays where it is",
         "? sum(«rotated(each.others, each.gradient->scatter)», part)",
         "each.others", RING),
    ],
    "lib/Codegen/Attention/ChunkBuilder.cpp": [
        ("loops run over what is behind the keys",
         "if («whole»)\n    return tensor;",
         "true", CONTEXT),
    ],
    "lib/Transforms/Plan/WholeModel/ContextParallel.cpp": [
        ("the backward pass gathers keys again",
         "if («llvm::any_of(value.getUsers(), isForBackward)»)",
         "false", CONTEXT),
        ("gradients of keys have any layout",
         "if («!isRing || !isOurs(each.value.getDefiningOp())»)",
         "true", RANDOM),
    ],
    "lib/Transforms/Plan/WholeModel/SequencePlaces.cpp": [
        ("what adds up queries adds up keys",
         "if («isOfQueries(each.added)»)",
         "false", RANDOM),
    ],
    "lib/Transforms/Partition/BucketChooser.cpp": [
        ("gradients that travel are sent in a bucket",
         "travelling.contains({axes, «chunk.getNumElements()»});",
         "int64_t(0)", CONTEXT),
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
