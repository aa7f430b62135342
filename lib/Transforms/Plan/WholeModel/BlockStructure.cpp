//===- BlockStructure.cpp - the blocks of a transformer -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeModel/BlockStructure.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

BlockStructure::BlockStructure(func::FuncOp function,
                               ArrayRef<ParameterUse> uses)
    : function(function), activations(function, uses),
      stream(activations.size()), split(activations.size()),
      roles(activations.linears().size(), LinearRole::Outside),
      joined(roles.size()), ofStream(roles.size()), experts(roles.size()) {
  findSums();
  findRoles();
  findTables(uses);
  findHeads();
  findSplitNodes();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The inputs of the body that a value is computed from.
static llvm::SmallDenseSet<unsigned> inputsOf(Value value, Block *body) {
  llvm::SmallDenseSet<unsigned> inputs;
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> worklist{value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (argument.getOwner() == body)
        inputs.insert(argument.getArgNumber());
    } else if (next.getDefiningOp()->getBlock() == body) {
      llvm::append_range(worklist, next.getDefiningOp()->getOperands());
    }
  }
  return inputs;
}

/// The two operands of an elementwise sum of equal shapes.
static std::optional<std::pair<Value, Value>> addends(Operation *op) {
  auto sum = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!sum || sum->getNumResults() != 1 || sum.getNumDpsInputs() != 2 ||
      sum.getNumParallelLoops() != sum.getNumLoops() || sum.getNumLoops() < 2 ||
      !sum.getBlock()->mightHaveTerminator() ||
      !isa<FloatType>(getElementTypeOrSelf(sum->getResult(0).getType())))
    return std::nullopt;
  auto maps = sum.getIndexingMapsArray();
  if (!maps[0].isPermutation() || maps[0] != maps[1] || maps[0] != maps[2])
    return std::nullopt;
  Value made = sum.getBlock()->getTerminator()->getOperand(0);
  while (Operation *cast = made.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(cast))
      break;
    made = cast->getOperand(0);
  }
  auto add = made.getDefiningOp<arith::AddFOp>();
  if (!add)
    return std::nullopt;
  auto left = inputsOf(add.getLhs(), sum.getBlock());
  auto right = inputsOf(add.getRhs(), sum.getBlock());
  if (left.size() != 1 || right.size() != 1 ||
      *left.begin() == *right.begin() || *left.begin() > 1 ||
      *right.begin() > 1)
    return std::nullopt;
  return std::pair(sum.getDpsInputOperand(0)->get(),
                   sum.getDpsInputOperand(1)->get());
}

std::optional<BlockStructure::Sum> BlockStructure::sumAt(unsigned node) {
  if (!activations.isForward(node) || !activations.isActivation(node))
    return std::nullopt;
  auto operands = addends(activations.op(node));
  if (!operands)
    return std::nullopt;
  unsigned left = activations.nodeOf(operands->first);
  unsigned right = activations.nodeOf(operands->second);
  if (!activations.isActivation(left) || !activations.isActivation(right))
    return std::nullopt;
  for (auto [skip, branch] : {std::pair(left, right), std::pair(right, left)}) {
    unsigned from = activations.unviewed(skip);
    if (activations.reachesByLinear(from, branch))
      return Sum{node, from, branch, std::nullopt};
    // `(x + f(x)) + g(x)`: two branches that begin at one value.
    auto known = sumOfNode.find(from);
    if (known != sumOfNode.end() &&
        activations.reachesByLinear(sums[known->second].skip, branch))
      return Sum{node, sums[known->second].skip, branch, known->second};
  }
  return std::nullopt;
}

void BlockStructure::findSums() {
  for (unsigned node = 0; node < activations.size(); ++node)
    if (std::optional<Sum> sum = sumAt(node)) {
      stream.set(node);
      sumOfNode[node] = sums.size();
      sums.push_back(*sum);
    }
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// The sizes of the weight's dimensions along which a product has one matrix of
/// many.
static SmallVector<int64_t, 1> expertsOf(const ParameterUse &use) {
  SmallVector<int64_t, 1> sizes;
  auto shape = cast<RankedTensorType>(use.parameter.getType()).getShape();
  for (auto [size, isBatched] : llvm::zip(shape, use.batched))
    if (isBatched)
      sizes.push_back(size);
  return sizes;
}

std::optional<unsigned> BlockStructure::shardedDim(unsigned linear) const {
  const ParameterUse &use = *activations.linears()[linear].use;
  auto shape = cast<RankedTensorType>(use.parameter.getType()).getShape();
  bool colwise = roles[linear] != LinearRole::Rows;
  SmallVector<unsigned> dims;
  for (auto [dim, contracted] : llvm::enumerate(use.contracted))
    if (contracted != colwise && dim != use.stackedDim && !use.batched[dim])
      dims.push_back(dim);
  for (int64_t size : experts[linear]) {
    auto *of =
        llvm::find_if(dims, [&](unsigned dim) { return shape[dim] == size; });
    if (dims.size() > 1 && of != dims.end())
      dims.erase(of);
  }
  return dims.empty() ? std::nullopt : std::optional(dims.front());
}

void BlockStructure::findBlockRoles(unsigned number) {
  const Sum &sum = sums[number];
  ArrayRef<LinearLayer> linears = activations.linears();
  SmallVector<unsigned> last = activations.linearsBefore(sum.branch, stream);
  SmallVector<unsigned> rows;
  for (unsigned layer : last) {
    SmallVector<unsigned> feeders =
        activations.linearsBefore(linears[layer].input, stream);
    if (feeders.empty())
      continue;
    rows.push_back(layer);
    roles[layer] = LinearRole::Rows;
    for (unsigned feeder : feeders) {
      // A latent vector that bypasses the next projection is whole too. What
      // comes before the block is none.
      SmallVector<unsigned> earlier =
          activations.linearsBefore(linears[feeder].input, stream);
      for (unsigned each : earlier)
        if (linears[each].node > sum.skip && roles[each] != LinearRole::Rows)
          roles[each] = LinearRole::Whole;
      if (roles[feeder] == LinearRole::Outside)
        roles[feeder] = LinearRole::Columns;
      experts[feeder] = expertsOf(*linears[layer].use);
      experts[layer] = expertsOf(*linears[feeder].use);
    }
  }
  for (unsigned layer : last)
    if (roles[layer] == LinearRole::Outside)
      roles[layer] = rows.empty() ? LinearRole::Unpaired : LinearRole::Whole;
  if (rows.size() > 1 || sum.joins)
    for (unsigned layer : rows)
      joined.set(layer);
  if (sum.joins)
    for (unsigned layer :
         activations.linearsBefore(sums[*sum.joins].branch, stream))
      joined.set(layer);
}

void BlockStructure::findRoles() {
  for (unsigned sum = 0; sum < sums.size(); ++sum)
    findBlockRoles(sum);
  for (auto [i, layer] : llvm::enumerate(activations.linears()))
    if (activations.linearsBefore(layer.input, stream).empty())
      ofStream.set(i);
}

/// The size that a linear layer makes of each row.
static int64_t widthOf(const ParameterUse &use) {
  return use.outputView.shape.empty() ? 0 : use.outputView.shape.back();
}

void BlockStructure::findHeads() {
  ArrayRef<LinearLayer> linears = activations.linears();
  llvm::BitVector feedsStream = activations.reaching(stream);
  llvm::BitVector inputs(activations.size());
  for (const LinearLayer &layer : linears)
    inputs.set(layer.input);
  llvm::BitVector feedsLinear = activations.reaching(inputs);
  for (auto [i, layer] : llvm::enumerate(linears)) {
    if (roles[i] != LinearRole::Outside || feedsStream[layer.node] ||
        feedsLinear[layer.node] || layer.use->inputView.shape.empty())
      continue;
    int64_t width = widthOf(*layer.use);
    bool isOfTokens = llvm::any_of(tokens, [&](const ParameterUse *table) {
      auto type = cast<RankedTensorType>(table->parameter.getType());
      return type.getDimSize(0) == width;
    });
    // A table may be on another stage; classes of a few labels stay whole.
    if (isOfTokens ||
        (tokens.empty() && width > layer.use->inputView.shape.back()))
      roles[i] = LinearRole::Head;
  }
}

//===----------------------------------------------------------------------===//
// Embeddings
//===----------------------------------------------------------------------===//

void BlockStructure::findTables(ArrayRef<ParameterUse> uses) {
  llvm::DenseMap<unsigned, SmallVector<const ParameterUse *, 1>> lookups;
  for (const ParameterUse &use : uses) {
    auto type = cast<RankedTensorType>(use.parameter.getType());
    auto kind = function.getArgAttrOfType<StringAttr>(
        use.parameter.getArgNumber(), attr::kind);
    if (use.isGather && kind && kind.getValue() == "parameter" &&
        type.getRank() == 2 && use.contracted[0] && !use.contracted[1] &&
        isa<FloatType>(type.getElementType()) &&
        use.op->getBlock() == &function.getBody().front())
      lookups[activations.nodeOf(use.result)].push_back(&use);
  }
  llvm::SmallDenseSet<const ParameterUse *> seen;
  for (const Sum &sum : sums) {
    // What a block begins with may be a projection of embeddings.
    SmallVector<unsigned> from{sum.skip};
    SmallVector<const ParameterUse *> found;
    for (size_t next = 0; next < from.size(); ++next)
      for (unsigned node : activations.before(from[next], stream)) {
        for (const ParameterUse *use : lookups.lookup(node))
          if (seen.insert(use).second)
            found.push_back(use);
        std::optional<unsigned> linear = activations.linearAt(node);
        if (linear && roles[*linear] == LinearRole::Outside &&
            !llvm::is_contained(from, activations.linears()[*linear].input))
          from.push_back(activations.linears()[*linear].input);
      }
    auto rowsOf = [](const ParameterUse *use) {
      return cast<RankedTensorType>(use->parameter.getType()).getDimSize(0);
    };
    auto isOfInput = [&](const ParameterUse *use) {
      auto reaches = [&](Value indices) {
        return activations.isActivation(activations.nodeOf(indices));
      };
      if (use->input)
        return reaches(use->input->get());
      // JAX's lookups read the indices as they read the table.
      return use->op
          ->walk([&](tensor::ExtractOp extract) {
            return reaches(extract.getTensor()) ? WalkResult::interrupt()
                                                : WalkResult::advance();
          })
          .wasInterrupted();
    };
    int64_t most = 0;
    for (const ParameterUse *use : found)
      if (isOfInput(use))
        most = std::max(most, rowsOf(use));
    for (const ParameterUse *use : found)
      (isOfInput(use) && rowsOf(use) == most ? tokens : others).push_back(use);
  }
}

//===----------------------------------------------------------------------===//
// The stream
//===----------------------------------------------------------------------===//

void BlockStructure::findSplitNodes() {
  for (unsigned node = 0; node < activations.size(); ++node) {
    if (std::optional<unsigned> linear = activations.linearAt(node)) {
      LinearRole role = roles[*linear];
      bool isInside = split[activations.linears()[*linear].input];
      split[node] = role == LinearRole::Columns || role == LinearRole::Head ||
                    (role != LinearRole::Rows && isInside);
      continue;
    }
    split[node] = !stream[node] &&
                  llvm::any_of(activations.sources(node),
                               [&](unsigned source) { return split[source]; });
  }
}

static ArrayRef<int64_t> shapeOf(Value value) {
  auto type =
      value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  return type ? type.getShape() : ArrayRef<int64_t>();
}

ArrayRef<int64_t> BlockStructure::streamShape(unsigned node) const {
  ArrayRef<int64_t> shape = shapeOf(activations.value(node));
  // One row, as of the next token, is no sequence.
  if (split[node] || !activations.isActivation(node) || shape.size() < 2 ||
      shape[shape.size() - 2] == 1)
    return {};
  for (const Sum &sum : sums)
    if (shape == shapeOf(activations.value(sum.node)))
      return shape;
  return {};
}

bool BlockStructure::hasSequence() const {
  return llvm::any_of(sums, [&](const Sum &sum) {
    ArrayRef<int64_t> shape = shapeOf(activations.value(sum.node));
    return shape.size() >= 2 && shape[shape.size() - 2] != 1;
  });
}

bool BlockStructure::hasStreamRows(ArrayRef<int64_t> shape) const {
  return shape.size() >= 2 && shape[shape.size() - 2] != 1 &&
         llvm::any_of(sums, [&](const Sum &sum) {
           ArrayRef<int64_t> of = shapeOf(activations.value(sum.node));
           return of.size() == shape.size() &&
                  of.drop_back() == shape.drop_back();
         });
}
