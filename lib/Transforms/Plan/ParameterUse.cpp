//===- ParameterUse.cpp - where a parameter is contracted -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterUse.h"
#include "Parameters/CarriedWeights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tp;

/// The sizes that a reshape next to the op gives dimension `dim` of `value`.
static SmallVector<int64_t> finerSizes(Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  while (auto pin = value.getDefiningOp<ConstrainOp>())
    value = pin.getSource();
  SmallVector<int64_t> sizes;
  if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>()) {
    auto parts = collapse.getReassociationIndices();
    for (int64_t part : parts[dim])
      sizes.push_back(collapse.getSrcType().getDimSize(part));
    return sizes;
  }
  return {type.getDimSize(dim)};
}

static SmallVector<int64_t> finerSizesOfResult(Value value, int64_t dim) {
  for (Operation *user : value.getUsers()) {
    if (auto pin = dyn_cast<ConstrainOp>(user))
      return finerSizesOfResult(pin.getResult(), dim);
    auto expand = dyn_cast<tensor::ExpandShapeOp>(user);
    if (!expand)
      continue;
    SmallVector<int64_t> sizes;
    auto parts = expand.getReassociationIndices();
    for (int64_t part : parts[dim])
      sizes.push_back(expand.getResultType().getDimSize(part));
    return sizes;
  }
  return {cast<RankedTensorType>(value.getType()).getDimSize(dim)};
}

/// Rows, then one dimension of the module's own, on both sides.
static void contractionViews(ParameterUse &use, OpOperand *activation) {
  AffineMap inMap = use.op.getMatchingIndexingMap(activation);
  AffineMap outMap = use.op.getMatchingIndexingMap(use.op.getDpsInitOperand(0));
  auto iterators = use.op.getIteratorTypesArray();
  auto inType = cast<RankedTensorType>(activation->get().getType());
  auto outType = cast<RankedTensorType>(use.result.getType());
  SmallVector<AffineExpr> rows;
  int64_t inSize = 1, outSize = 1;
  bool inContracted = false;
  for (auto [i, expr] : llvm::enumerate(inMap.getResults())) {
    bool contracted = iterators[cast<AffineDimExpr>(expr).getPosition()] ==
                      utils::IteratorType::reduction;
    if (!contracted && inContracted) {
      use.problem = "its contracted dimensions are not the last of its input";
      return;
    }
    if (!contracted) {
      rows.push_back(expr);
      continue;
    }
    inContracted = true;
    inSize *= inType.getDimSize(i);
  }
  for (auto [i, expr] : llvm::enumerate(outMap.getResults())) {
    bool isRow = i < rows.size();
    if (isRow != llvm::is_contained(rows, expr) || (isRow && rows[i] != expr)) {
      use.problem = "the rows of its input and its output are not in one order";
      return;
    }
    if (isRow)
      continue;
    outSize *= outType.getDimSize(i);
  }
  for (unsigned i = 0; i < rows.size(); ++i) {
    SmallVector<int64_t> sizes = finerSizes(activation->get(), i);
    if (sizes.size() == 1)
      sizes = finerSizesOfResult(use.output, i);
    llvm::append_range(use.inputView.shape, sizes);
    llvm::append_range(use.outputView.shape, sizes);
  }
  use.inputView.shape.push_back(inSize);
  use.outputView.shape.push_back(outSize);
}

/// The op that goes on with a value, if there is one alone. What the model
/// keeps to compute from it a second time is another computation.
static Operation *onlyUser(Value value) {
  auto users = llvm::make_filter_range(
      value.getUsers(), [](Operation *user) { return !isa<KeptOp>(user); });
  return llvm::hasSingleElement(users) ? *users.begin() : nullptr;
}

/// Exporters sum products of f16 or bf16 in f32 and round after: the module's
/// output is what was rounded to the type of its input.
static void takeRounding(ParameterUse &use, Type inputElement) {
  auto cast = dyn_cast_or_null<linalg::LinalgOp>(onlyUser(use.output));
  OpOperand *input = cast ? copiedInput(cast) : nullptr;
  if (!input || input->get() != use.output)
    return;
  Value rounded = cast->getResult(0);
  Type element = getElementTypeOrSelf(use.output.getType());
  if (element == inputElement ||
      getElementTypeOrSelf(rounded.getType()) != inputElement ||
      !cast.getMatchingIndexingMap(input).isIdentity() ||
      !cast.getMatchingIndexingMap(cast.getDpsInitOperand(0)).isIdentity())
    return;
  use.output = rounded;
}

/// Follows the result forward through views of its own to the sum with a bias,
/// an argument of the module.
static void findBias(ParameterUse &use, func::FuncOp function,
                     StringRef module) {
  // torch keeps what a weight is computed from in modules of the module.
  if (module.consume_front("parametrizations."))
    module = "";
  module = module.take_front(module.find(".parametrizations."));
  auto biasOf = [&](Value value) -> BlockArgument {
    while (Operation *op = value.getDefiningOp()) {
      Value source = viewSource(op);
      if (auto copy = dyn_cast<linalg::LinalgOp>(op); !source && copy)
        if (OpOperand *input = copiedInput(copy))
          source = input->get();
      if (!source)
        return {};
      value = source;
    }
    auto argument = cast<BlockArgument>(value);
    if (argument.getOwner() != &function.getBody().front())
      return {};
    auto attr = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      attr::name);
    if (!attr)
      return {};
    StringRef name = attr.getValue();
    auto [owner, member] =
        name.contains('.') ? name.rsplit('.') : std::pair(StringRef(), name);
    return owner == module && llvm::is_contained(biasNames, member)
               ? argument
               : BlockArgument();
  };
  for (Value value = use.output; Operation *user = onlyUser(value);) {
    if (viewSource(user) == value && !isa<linalg::TransposeOp>(user)) {
      value = user->getResult(0);
      continue;
    }
    auto sum = dyn_cast<linalg::LinalgOp>(user);
    if (!sum || sum.getNumDpsInputs() != 2 || sum->getNumResults() != 1 ||
        sum.getNumParallelLoops() != sum.getNumLoops())
      return;
    Operation *add =
        sum.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
    if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add))
      return;
    Value other = sum.getDpsInputOperand(0)->get() == value
                      ? sum.getDpsInputOperand(1)->get()
                      : sum.getDpsInputOperand(0)->get();
    use.bias = biasOf(other);
    if (use.bias)
      use.output = user->getResult(0);
    return;
  }
}

/// The input whose element the index of a lookup is computed from.
static OpOperand *indexInput(linalg::LinalgOp op, ValueRange indices) {
  SmallVector<Value> worklist(indices.begin(), indices.end());
  llvm::SmallDenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == op.getBlock() &&
          argument.getArgNumber() < op.getNumDpsInputs())
        return op.getDpsInputOperand(argument.getArgNumber());
    } else if (value.getDefiningOp()->getBlock() == op.getBlock()) {
      llvm::append_range(worklist, value.getDefiningOp()->getOperands());
    }
  }
  return nullptr;
}

static std::optional<ParameterUse>
gatherUse(tensor::ExtractOp extract, const ParameterView &view, int64_t rank) {
  auto op = dyn_cast_or_null<linalg::LinalgOp>(extract->getParentOp());
  if (!op || op->getNumResults() != 1)
    return std::nullopt;
  ParameterUse use;
  use.op = op;
  use.isGather = true;
  use.contracted.resize(rank, false);
  use.batched.resize(rank, false);
  SmallVector<Value> computed;
  for (auto [dim, index] : llvm::zip(view.dims, extract.getIndices())) {
    if (dim < 0 || index.getDefiningOp<linalg::IndexOp>())
      continue;
    use.contracted[dim] = true;
    computed.push_back(index);
  }
  if (computed.empty())
    return std::nullopt;
  use.result = use.output = op->getResult(0);
  llvm::append_range(use.outputView.shape,
                     cast<RankedTensorType>(use.result.getType()).getShape());
  use.input = indexInput(op, computed);
  if (use.input)
    llvm::append_range(
        use.inputView.shape,
        cast<RankedTensorType>(use.input->get().getType()).getShape());
  return use;
}

static std::optional<ParameterUse>
contractionUse(OpOperand &operand, const ParameterView &view, int64_t rank) {
  auto op = dyn_cast<linalg::LinalgOp>(operand.getOwner());
  if (!op || !linalg::isaContractionOpInterface(op) || !op.isDpsInput(&operand))
    return std::nullopt;
  ParameterUse use;
  use.op = op;
  use.input = op.getDpsInputOperand(operand.getOperandNumber() == 0 ? 1 : 0);
  use.contracted.resize(rank, false);
  use.batched.resize(rank, false);
  SmallVector<bool> kept(rank, false);
  auto iterators = op.getIteratorTypesArray();
  AffineMap map = op.getMatchingIndexingMap(&operand);
  AffineMap other = op.getMatchingIndexingMap(use.input);
  for (auto [dim, expr] : llvm::zip(view.dims, map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop)
      continue;
    bool isSum =
        iterators[loop.getPosition()] == utils::IteratorType::reduction;
    uint64_t bits = bitsOfDims(dim);
    for (int64_t each = 0; each < rank; ++each) {
      if (!(bits >> each & 1))
        continue;
      (isSum ? use.contracted : kept)[each] = true;
      if (!isSum && other.getResultPosition(loop))
        use.batched[each] = true;
    }
  }
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (use.contracted[dim] && kept[dim])
      return std::nullopt;
    // One of many along it, as of the experts that tokens select.
    if (!use.contracted[dim] && !kept[dim] && dim != view.stackedDim)
      use.batched[dim] = true;
  }
  use.result = use.output = op->getResult(0);
  return use;
}

/// Completes the use of a contraction.
static void findBoundary(ParameterUse &use, func::FuncOp function,
                         StringRef module) {
  Type inputElement = getElementTypeOrSelf(use.input->get().getType());
  takeRounding(use, inputElement);
  findBias(use, function, module);
  takeRounding(use, inputElement);
  contractionViews(use, use.input);
}

std::vector<ParameterUse> tp::parameterUses(func::FuncOp function,
                                            bool throughSelections) {
  std::vector<ParameterUse> result;
  std::vector<WeightView> weights = argumentWeights(function);
  Activations activations = activationsBeside(weights, function);
  llvm::DenseSet<Value> derived;
  for (const WeightView &weight : weights) {
    BlockArgument parameter = weight.parameter;
    int64_t rank = cast<RankedTensorType>(parameter.getType()).getRank();
    StringRef name =
        function
            .getArgAttrOfType<StringAttr>(parameter.getArgNumber(), attr::name)
            .getValue();
    StringRef module = name.contains('.') ? name.rsplit('.').first : "";
    forEachUse(weight.view, {activations, throughSelections, &derived},
               [&](const ParameterView &view, OpOperand &operand) {
                 auto extract = dyn_cast<tensor::ExtractOp>(operand.getOwner());
                 std::optional<ParameterUse> use =
                     extract ? gatherUse(extract, view, rank)
                             : contractionUse(operand, view, rank);
                 // Some of many, at once: part of a packed weight.
                 if (!use || (view.partOf && view.partOf != view.stackedDim))
                   return;
                 use->parameter = parameter;
                 use->stackedDim = view.stackedDim;
                 if (!use->isGather)
                   findBoundary(*use, function, module);
                 result.push_back(std::move(*use));
               });
  }
  for (ParameterUse &use : result)
    use.isPartOfWeight =
        !use.isGather && isPartOfWeight(use.op, derived, activations);
  // Uses are found in any order; ops are reported in the program's.
  std::stable_sort(result.begin(), result.end(),
                   [](const ParameterUse &left, const ParameterUse &right) {
                     Operation *first = left.op.getOperation();
                     Operation *second = right.op.getOperation();
                     return first->getBlock() == second->getBlock() &&
                            first->isBeforeInBlock(second);
                   });
  return result;
}
