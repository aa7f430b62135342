//===- AttentionCommand.cpp - steps as one attention ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether an attention's steps are one command is decided by where everything
// lies once that is planned: a library wants every operand in memory, with one
// stride for each of batch, head and row.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "StepOrder.h"
#include "tp/IR/CodegenAttributes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// Where an operand lies, over an op's loops.
struct Place {
  Value root;
  LinearForm form;
};

/// An operand over an attention's loops: those that are neither queries, keys
/// nor columns, then the rows, then for a bias the keys.
struct StridedOperand {
  Value root;
  int64_t offset = 0;
  SmallVector<int64_t> loops;

  bool operator==(const StridedOperand &other) const {
    return root == other.root && offset == other.offset && loops == other.loops;
  }
};

/// What is read of the steps of one attention.
class AttentionGatherer {
public:
  AttentionGatherer(const StoragePlan &plan, const Schedule &list)
      : plan(plan), list(list) {}

  bool gather(ArrayRef<linalg::LinalgOp> steps, size_t first, size_t last);
  Attention attention;

private:
  std::optional<Place> placeOf(linalg::LinalgOp op, Value value,
                               AffineMap map) const;
  bool readScores(linalg::LinalgOp op, DictionaryAttr tag);
  bool readMasked(linalg::LinalgOp op);
  bool readOutput(linalg::LinalgOp op, DictionaryAttr tag);
  bool note(std::optional<StridedOperand> &operand, StridedOperand found) const;
  bool divideLoops();
  bool tryDivision(ArrayRef<unsigned> batch, ArrayRef<unsigned> heads);
  bool touchesNothingElse() const;
  void leaveOutKeys();
  void countWork();

  const StoragePlan &plan;
  const Schedule &list;
  std::optional<StridedOperand> q, k, v, o, bias;
  /// Loops that are neither queries, keys nor columns.
  SmallVector<int64_t> extents;
  int64_t firstQuery = 0, firstKey = 0;
  /// The keys that some step reads. Memory may hold no others.
  int64_t beginKeys = INT64_MAX, endKeys = 0;
  /// The keys that queries see at most, where they have spans in place of a
  /// bias.
  std::optional<int64_t> seen;
};
} // namespace

static std::optional<int64_t> integerOf(DictionaryAttr tag, StringRef name) {
  auto attribute = tag.getAs<IntegerAttr>(name);
  return attribute ? std::optional(attribute.getInt()) : std::nullopt;
}

std::optional<Place> AttentionGatherer::placeOf(linalg::LinalgOp op,
                                                Value value,
                                                AffineMap map) const {
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  // A step of one query has a stride all the same, which a loop that runs once
  // would not show.
  for (int64_t &extent : loops)
    extent = std::max<int64_t>(extent, 2);
  IndexSpace space = IndexSpace::ofExtents(loops);
  Indices index =
      applyMap(map, identityIndices(loops.size(), op->getContext()), {}, space);
  double alpha = 1.0;
  auto address = addressOf(plan, value, index, space, alpha);
  if (!address || alpha != 1.0)
    return std::nullopt;
  auto form = linearForm(address->second, loops.size(), 0);
  if (!form)
    return std::nullopt;
  return Place{address->first, *form};
}

/// All steps must agree on where an operand lies.
bool AttentionGatherer::note(std::optional<StridedOperand> &operand,
                             StridedOperand found) const {
  if (!operand)
    operand = found;
  return *operand == found;
}

/// The last loops as one: elements that follow each other in memory.
static bool isContiguous(ArrayRef<int64_t> strides, ArrayRef<int64_t> extents) {
  int64_t expected = 1;
  for (auto [stride, extent] :
       llvm::zip_equal(llvm::reverse(strides), llvm::reverse(extents))) {
    if (extent > 1 && stride != expected)
      return false;
    expected *= extent;
  }
  return true;
}

bool AttentionGatherer::readScores(linalg::LinalgOp op, DictionaryAttr tag) {
  std::optional<int64_t> batch = integerOf(tag, "batch"),
                         query = integerOf(tag, "query"),
                         key = integerOf(tag, "key"),
                         queries = integerOf(tag, "queries"),
                         keys = integerOf(tag, "keys");
  auto scale = tag.getAs<FloatAttr>("scale");
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  if (!batch || !query || !key || !queries || !keys || !scale || *batch < 0 ||
      int64_t(loops.size()) < *batch + 3)
    return false;
  firstQuery = *query;
  firstKey = *key;
  beginKeys = std::min(beginKeys, firstKey);
  endKeys = std::max(endKeys, firstKey + loops[*batch + 1]);
  attention.queries = *queries;
  attention.keys = *keys;
  attention.scale = scale.getValueAsDouble();
  attention.lower = integerOf(tag, "lower");
  attention.upper = integerOf(tag, "upper");
  seen = integerOf(tag, "seen");
  if (auto rows = tag.getAs<StringAttr>("empty_rows"))
    attention.emptyRows = rows.getValue();
  extents.assign(loops.begin(), loops.begin() + *batch);
  ArrayRef<int64_t> columns = ArrayRef(loops).drop_front(*batch + 2);
  attention.headSize = ShapedType::getNumElements(columns);
  for (bool isKey : {false, true}) {
    OpOperand *operand = op.getDpsInputOperand(isKey);
    std::optional<Place> place =
        placeOf(op, operand->get(), op.getMatchingIndexingMap(operand));
    if (!place)
      return false;
    ArrayRef<int64_t> strides = place->form.dimStrides;
    int64_t row = strides[*batch + isKey];
    if (strides[*batch + !isKey] != 0 ||
        !isContiguous(strides.drop_front(*batch + 2), columns))
      return false;
    StridedOperand found{place->root,
                         place->form.constant - row * (isKey ? *key : *query),
                         SmallVector<int64_t>(strides.take_front(*batch))};
    found.loops.push_back(row);
    if (!note(isKey ? k : q, found))
      return false;
  }
  return true;
}

bool AttentionGatherer::readMasked(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() < 2)
    return true;
  OpOperand *operand = op.getDpsInputOperand(1);
  std::optional<Place> place =
      placeOf(op, operand->get(), op.getMatchingIndexingMap(operand));
  if (!place || place->form.dimStrides.size() != extents.size() + 2)
    return false;
  StridedOperand found{place->root, place->form.constant,
                       SmallVector<int64_t>(place->form.dimStrides)};
  found.offset -= found.loops[extents.size()] * firstQuery +
                  found.loops[extents.size() + 1] * firstKey;
  // The end of a span is behind its beginning.
  if (seen)
    found.loops.back() = 1;
  return note(bias, found);
}

bool AttentionGatherer::readOutput(linalg::LinalgOp op, DictionaryAttr tag) {
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  size_t batch = extents.size();
  if (loops.size() < batch + 3 ||
      !ArrayRef(loops).take_front(batch).equals(extents))
    return false;
  attention.op = op;
  ArrayRef<int64_t> columns = ArrayRef(loops).drop_front(batch + 1).drop_back();
  attention.valueSize = ShapedType::getNumElements(columns);
  OpOperand *values = op.getDpsInputOperand(1);
  std::optional<Place> place =
      placeOf(op, values->get(), op.getMatchingIndexingMap(values));
  if (!place || place->form.dimStrides[batch] != 0)
    return false;
  ArrayRef<int64_t> strides = place->form.dimStrides;
  if (!isContiguous(strides.drop_front(batch + 1).drop_back(), columns))
    return false;
  StridedOperand found{place->root,
                       place->form.constant - strides.back() * firstKey,
                       SmallVector<int64_t>(strides.take_front(batch))};
  found.loops.push_back(strides.back());
  if (!note(v, found))
    return false;

  Value result = op->getResult(0);
  attention.elementType =
      cast<RankedTensorType>(result.getType()).getElementType();
  if (result.hasOneUse() && roundsResult(*result.user_begin()))
    result = (*result.user_begin())->getResult(0);
  else if (!plan.isStored(result) && !plan.subviewOf(result))
    return false;
  place =
      placeOf(op, result, op.getMatchingIndexingMap(op.getDpsInitOperand(0)));
  if (!place)
    return false;
  strides = place->form.dimStrides;
  if (!isContiguous(strides.drop_front(batch + 1).drop_back(), columns))
    return false;
  StridedOperand made{place->root,
                      place->form.constant - strides[batch] * firstQuery,
                      SmallVector<int64_t>(strides.take_front(batch + 1))};
  return note(o, made);
}

//===----------------------------------------------------------------------===//
// Batch and heads
//===----------------------------------------------------------------------===//

/// The stride with which several loops, the last one innermost, are one.
static std::optional<int64_t> joined(ArrayRef<unsigned> loops,
                                     ArrayRef<int64_t> strides,
                                     ArrayRef<int64_t> extents) {
  if (loops.empty())
    return 0;
  for (size_t i = 0; i + 1 < loops.size(); ++i)
    if (strides[loops[i]] != strides[loops[i + 1]] * extents[loops[i + 1]])
      return std::nullopt;
  return strides[loops.back()];
}

bool AttentionGatherer::tryDivision(ArrayRef<unsigned> batch,
                                    ArrayRef<unsigned> heads) {
  // Heads that share keys follow each other.
  SmallVector<unsigned> shared, all;
  for (unsigned loop : heads)
    if (k->loops[loop] != 0 || v->loops[loop] != 0)
      shared.push_back(loop);
  all = shared;
  for (unsigned loop : heads)
    if (!llvm::is_contained(shared, loop))
      all.push_back(loop);
  auto set = [&](const StridedOperand &from, AttentionOperand &to,
                 ArrayRef<unsigned> ofHeads) {
    std::optional<int64_t> first = joined(batch, from.loops, extents);
    std::optional<int64_t> second = joined(ofHeads, from.loops, extents);
    if (!first || !second)
      return false;
    to.root = from.root;
    to.elementOffset = from.offset;
    to.strides = {*first, *second};
    llvm::append_range(to.strides,
                       ArrayRef(from.loops).drop_front(extents.size()));
    return true;
  };
  if (!set(*q, attention.q, all) || !set(*o, attention.o, all) ||
      !set(*k, attention.k, shared) || !set(*v, attention.v, shared))
    return false;
  attention.bias.reset();
  if (bias && !set(*bias, attention.bias.emplace(), all))
    return false;
  auto count = [&](ArrayRef<unsigned> loops) {
    int64_t product = 1;
    for (unsigned loop : loops)
      product *= extents[loop];
    return product;
  };
  attention.batch = count(batch);
  attention.heads = count(all);
  attention.kvHeads = count(shared);
  return true;
}

/// Which of the other loops are batch and which heads: all the same to what is
/// computed, but not every choice has one stride for each.
bool AttentionGatherer::divideLoops() {
  unsigned count = extents.size();
  constexpr unsigned most = 8;
  if (count > most)
    return false;
  // Heads are the loops over heads of the same keys, and if that can be one
  // with them the last other one.
  unsigned shared = 0, last = 0;
  for (unsigned loop = 0; loop < count; ++loop)
    if (k->loops[loop] == 0 && v->loops[loop] == 0)
      shared |= 1u << loop;
    else
      last = 1u << loop;
  SmallVector<unsigned> choices = {shared | last, shared};
  llvm::append_range(choices, llvm::seq(0u, 1u << count));
  for (unsigned set : choices) {
    SmallVector<unsigned> batch, heads;
    for (unsigned loop = 0; loop < count; ++loop)
      (set >> loop & 1 ? heads : batch).push_back(loop);
    if (tryDivision(batch, heads))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Whether the steps read and write the operands, what they make themselves,
/// and nothing more.
bool AttentionGatherer::touchesNothingElse() const {
  llvm::SmallSetVector<Value, 8> operands, read;
  for (const std::optional<StridedOperand> *operand : {&q, &k, &v, &bias})
    if (*operand)
      operands.insert((*operand)->root);
  llvm::DenseSet<Value> written;
  for (size_t i = attention.first; i <= attention.last; ++i) {
    const Command &command = list.commands[i];
    // A kernel may read again what it writes.
    written.insert_range(command.writes);
    for (Value value : command.reads)
      if (!written.contains(value))
        read.insert(value);
  }
  if (!llvm::all_of(read,
                    [&](Value value) { return operands.contains(value); }) ||
      operands.contains(o->root))
    return false;
  for (auto [i, command] : llvm::enumerate(list.commands)) {
    if (i >= attention.first && i <= attention.last)
      continue;
    for (Value value : command.reads)
      if (value != o->root && written.contains(value))
        return false;
    for (Value value : command.writes)
      if (written.contains(value))
        return false;
  }
  // A result is read by whoever asked for it.
  return llvm::all_of(written, [&](Value value) {
    return value == o->root || plan.storage(value).space == Space::Arena;
  });
}

/// Leaves out the keys before and behind those that the steps read.
void AttentionGatherer::leaveOutKeys() {
  if (seen)
    return;
  for (AttentionOperand *operand : {&attention.k, &attention.v})
    operand->elementOffset += operand->strides[2] * beginKeys;
  if (attention.bias)
    attention.bias->elementOffset += attention.bias->strides[3] * beginKeys;
  for (std::optional<int64_t> *bound : {&attention.lower, &attention.upper})
    if (*bound)
      **bound -= beginKeys;
  attention.keys = endKeys - beginKeys;
}

void AttentionGatherer::countWork() {
  int64_t pairs = seen.value_or(0);
  for (int64_t i = 0; i < attention.queries && !seen; ++i) {
    int64_t first = 0, end = attention.keys;
    if (attention.lower)
      first = std::max<int64_t>(0, i + *attention.lower);
    if (attention.upper)
      end = std::min(end, i + *attention.upper + 1);
    pairs += std::max<int64_t>(0, end - first);
  }
  int64_t groups = attention.batch * attention.heads;
  attention.flops =
      2 * pairs * groups * (attention.headSize + attention.valueSize);
  int64_t elements =
      groups * attention.queries * (attention.headSize + attention.valueSize) +
      attention.batch * attention.kvHeads * attention.keys *
          (attention.headSize + attention.valueSize);
  attention.bytes = elements * elementBytes(attention.elementType);
  if (!attention.bias)
    return;
  int64_t added = 1;
  const int64_t sizes[] = {attention.batch, attention.heads, attention.queries,
                           seen ? 2 : attention.keys};
  for (auto [stride, size] : llvm::zip_equal(attention.bias->strides, sizes))
    if (stride != 0)
      added *= size;
  attention.bytes +=
      added * elementBytes(plan.storage(attention.bias->root).elementType);
}

bool AttentionGatherer::gather(ArrayRef<linalg::LinalgOp> steps, size_t first,
                               size_t last) {
  attention.first = first;
  attention.last = last;
  for (linalg::LinalgOp op : steps) {
    auto tag = op->getAttrOfType<DictionaryAttr>(tp::attr::attention);
    auto role = tag.getAs<StringAttr>("role");
    bool fits = !role              ? false
                : role == "scores" ? readScores(op, tag)
                : role == "masked" ? q && readMasked(op)
                : role == "output" ? q && readOutput(op, tag)
                                   : true;
    if (!fits)
      return false;
  }
  if (!q || !k || !v || !o)
    return false;
  // All of one type, in memory as well.
  attention.elementType = plan.storage(o->root).elementType;
  for (const StridedOperand &operand : {*q, *k, *v})
    if (plan.storage(operand.root).elementType != attention.elementType)
      return false;
  if (!divideLoops() || !touchesNothingElse())
    return false;
  leaveOutKeys();
  countWork();
  return true;
}

void tp::target::gatherAttentions(const StoragePlan &plan, Schedule &list,
                                  func::FuncOp function) {
  llvm::MapVector<int64_t, SmallVector<linalg::LinalgOp>> steps;
  for (auto op : function.front().getOps<linalg::LinalgOp>())
    if (std::optional<int64_t> id = attentionOfStep(op))
      steps[*id].push_back(op);
  for (auto [id, first, last] : putStepsTogether(list)) {
    AttentionGatherer gatherer(plan, list);
    if (gatherer.gather(steps[id], first, last))
      list.attentions.push_back(gatherer.attention);
  }
}
