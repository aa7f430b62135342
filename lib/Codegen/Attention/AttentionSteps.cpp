//===- AttentionSteps.cpp - attentions as products and softmaxes ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some queries at a time: the product with the keys that they can see, the
// masked softmax, the product with those keys' values.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "AttentionStepBuilder.h"
#include "Backward/BackwardForm.h"
#include "CodegenPlan.h"
#include "RingAttention.h"
#include "Storage/Calls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/IR/CodegenAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

/// More steps are not worth the memory that they save, as each may be a kernel
/// of its own.
static constexpr int64_t mostChunks = 64;
/// Queries and keys of a step begin and end at multiples of this.
static constexpr int64_t granule = 64;

static DictionaryAttr tagOf(Operation *op) {
  return op ? op->getAttrOfType<DictionaryAttr>(tp::attr::attention)
            : DictionaryAttr();
}

static StringRef roleOf(Operation *op) {
  DictionaryAttr tag = tagOf(op);
  auto role = tag ? tag.getAs<StringAttr>("role") : StringAttr();
  return role ? role.getValue() : StringRef();
}

std::optional<int64_t> tp::target::attentionOfStep(Operation *op) {
  DictionaryAttr tag = tagOf(op);
  auto id =
      tag ? tag.getAs<IntegerAttr>(tp::attr::attentionNumber) : IntegerAttr();
  if (!id || joinsSteps(op))
    return std::nullopt;
  return id.getInt();
}

std::optional<StepLoops> tp::target::loopsOfStep(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  StringRef role = roleOf(op);
  if (role != "scores" && role != "output")
    return std::nullopt;
  auto batch = tagOf(op).getAs<IntegerAttr>("batch");
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  if (!batch || batch.getInt() < 0 ||
      int64_t(loops.size()) < batch.getInt() + 3)
    return std::nullopt;
  unsigned query = batch.getInt(), end = loops.size();
  if (role == "scores")
    return StepLoops{query + 2, end, loops[query]};
  // The other operand is weights.
  if (operand.getOperandNumber() == 0)
    return std::nullopt;
  return StepLoops{query + 1, end - 1, loops[query]};
}

bool tp::target::joinsSteps(Operation *op) { return roleOf(op) == "result"; }

bool tp::target::makesBias(Operation *op) { return roleOf(op) == "bias"; }

bool tp::target::roundsResult(Operation *op) { return roleOf(op) == "rounded"; }

SmallVector<StepRange> AttentionStepBuilder::queryBlocks() const {
  int64_t queries = form.extent(form.query);
  if (!scoreBytes)
    return {{0, queries}};
  int64_t rowBytes = form.extent(form.key) * elementBytes(form.sumType);
  for (unsigned loop : form.batch)
    rowBytes *= form.extent(loop);
  int64_t rows = *scoreBytes / std::max<int64_t>(rowBytes, 1);
  if (rows >= queries)
    return {{0, queries}};
  rows = std::max<int64_t>(rows, llvm::divideCeil(queries, mostChunks));
  rows =
      rows >= granule ? rows / granule * granule : std::max<int64_t>(rows, 1);
  while (llvm::divideCeil(queries, rows) > mostChunks)
    rows += std::min(rows, granule);
  SmallVector<StepRange> found;
  for (int64_t first = 0; first < queries; first += rows)
    found.push_back({first, std::min(rows, queries - first)});
  return found;
}

/// The keys that some of the queries sees, and some more.
StepRange AttentionStepBuilder::keysOf(StepRange queries) const {
  int64_t keys = form.extent(form.key), first = 0, end = keys;
  if (form.lower)
    first = std::clamp<int64_t>(queries.first + *form.lower, 0, keys);
  if (form.upper)
    end = std::clamp<int64_t>(queries.end() + *form.upper, 0, keys);
  // Queries that see none read some all the same.
  if (first >= end)
    first = std::clamp<int64_t>(first, 0, keys - 1), end = first + 1;
  first = first / granule * granule;
  end = std::min<int64_t>(llvm::alignTo(end, granule), keys);
  return {first, end - first};
}

Value AttentionStepBuilder::withDims(Value made, ArrayRef<int64_t> extents,
                                     ArrayRef<unsigned> dims,
                                     ArrayRef<int64_t> shape) {
  SmallVector<ReassociationIndices> units(1), parts;
  bool taken = false;
  for (auto [loop, extent] : llvm::enumerate(extents)) {
    // Loops of one iteration go with the one before, the first with the next.
    if (extent > 1 && std::exchange(taken, true))
      units.emplace_back();
    units.back().push_back(loop);
    if (parts.empty() || dims[loop] != dims[loop - 1])
      parts.emplace_back();
    parts.back().push_back(loop);
  }
  auto typeOf = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, getElementTypeOrSelf(made));
  };
  if (units.size() != extents.size())
    made = tensor::ExpandShapeOp::create(builder, loc, typeOf(extents), made,
                                         units);
  if (parts.size() != extents.size())
    made = tensor::CollapseShapeOp::create(builder, loc, typeOf(shape), made,
                                           parts);
  return made;
}

void AttentionStepBuilder::replaceResult(Value made) {
  SmallVector<int64_t> extents;
  for (unsigned loop = 0; loop < form.numResultLoops; ++loop)
    extents.push_back(form.extent(loop));
  Value result = form.result;
  result.replaceAllUsesWith(withDims(made, extents, form.resultDims,
                                     tp::target::shapeOf(form.result)));
}

void AttentionStepBuilder::build() {
  makeBias();
  makeSpans();
  SmallVector<Value> outputs;
  for (StepRange queries : queryBlocks()) {
    StepRange keys = keysOf(queries);
    Value made = weights(scores(queries, keys), queries, keys);
    outputs.push_back(output(made, queries, keys));
  }
  Value made = outputs.front();
  if (outputs.size() > 1) {
    unsigned dim = 0;
    for (unsigned loop = 0; loop < form.query; ++loop)
      dim += form.extent(loop) > 1;
    auto joined = tensor::ConcatOp::create(builder, loc, dim, outputs);
    joined->setAttr(tp::attr::attention, tag("result"));
    made = joined;
  }
  replaceResult(made);
}

/// Rewrites `form`, with the gradients that are made of its weights, unless
/// these are used for something else. Returns whether it did.
static bool formAttention(AttentionForm &form, int64_t id, KnownTerms &known,
                          const TargetTraits &traits) {
  if (!usesScoresAlone(form)) {
    std::optional<BackwardForm> backward =
        hasChunks(traits) ? backwardOf(form, known) : std::nullopt;
    if (backward && !formRing(form, backward))
      buildBackward(form, *backward);
    return backward.has_value();
  }
  if (!hasChunks(traits) || !formRing(form, /*backward=*/std::nullopt))
    AttentionStepBuilder(form, id, traits.scoreBytes).build();
  return true;
}

FailureOr<unsigned> tp::target::formAttentions(func::FuncOp function,
                                               const TargetTraits &traits) {
  if (!function.getBody().hasOneBlock())
    return 0;
  cleanUp(function, traits);
  if (!traits.hasAttention)
    return failed(verifyRings(function, traits)) ? FailureOr<unsigned>()
                                                 : FailureOr<unsigned>(0);
  KnownTerms known;
  // A library on a device knows one mask.
  known.mayDifferByRank = !traits.scoreBytes;
  SmallVector<Operation *> products;
  int64_t id = 0;
  for (Operation &op : function.front()) {
    if (std::optional<int64_t> known = attentionOfStep(&op))
      id = std::max(id, *known + 1);
    else if (contractionOf(&op))
      products.push_back(&op);
  }
  unsigned count = 0;
  for (Operation *op : products)
    if (auto form = attentionOf(op, known))
      count += formAttention(*form, id + count, known, traits);
  // Only now: what is known of constants is known by their addresses.
  if (count)
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  if (count)
    cleanUp(function, traits);
  if (failed(verifyRings(function, traits)))
    return failure();
  return count;
}
