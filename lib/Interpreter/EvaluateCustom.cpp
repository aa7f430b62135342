//===- EvaluateCustom.cpp - an op that a linked function computes ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a split op a rank takes the indices that the strategy gives it, in global
// coordinates, from its buffers of the operands, and computes what it gets.
//
//===----------------------------------------------------------------------===//

#include "EvaluateTensor.h"
#include "tp/IR/CustomOps.h"
#include "tp/Runtime/Linked/LinkedOps.h"

using namespace mlir;
using namespace tp;
using namespace tp::simulator;
namespace rt = tp::runtime;

namespace {
/// The indices of one tensor that a call works on, dimension by dimension.
using Positions = SmallVector<std::vector<int64_t>, 4>;

class CustomCall {
public:
  CustomCall(CustomOp op, Frame &frame) : op(op), frame(frame) {}
  LogicalResult run();

private:
  LogicalResult readRule();
  Positions positionsOf(unsigned tensor, RankedTensorType type);
  LogicalResult addTensor(Value value, const Positions &positions,
                          std::vector<tp_tensor> &tensors);
  LogicalResult fill(unsigned number, Value input, const Positions &positions);
  LogicalResult take(Value result, const Positions &positions,
                     ArrayRef<char> bytes);
  /// Calls `visit` with every index of `positions`, and counts them.
  LogicalResult
  forEach(const Positions &positions,
          llvm::function_ref<LogicalResult(ArrayRef<int64_t>, int64_t)> visit);

  CustomOp op;
  Frame &frame;
  /// Of a split op: its rule, and the indices that the rank has of each name.
  std::optional<CustomRule> rule;
  llvm::StringMap<std::vector<int64_t>> ofName;
  std::vector<std::vector<char>> bytes;
};
} // namespace

static SmallVector<int64_t> sizesOf(const Positions &positions) {
  return llvm::map_to_vector(positions, [](const std::vector<int64_t> &list) {
    return int64_t(list.size());
  });
}

LogicalResult CustomCall::readRule() {
  auto strategy = op->getAttrOfType<StrategyAttr>(attr::strategy);
  if (!frame.isSharded() || !op.getRule() || !strategy)
    return success();
  std::string problem;
  rule = CustomRule::of(op, problem);
  if (!rule)
    return op.emitOpError() << problem;
  llvm::StringMap<int64_t> sizes;
  for (auto [dims, input] : llvm::zip(rule->operands, op.getInputs()))
    for (auto [name, size] : llvm::zip_equal(
             dims, cast<RankedTensorType>(input.getType()).getShape()))
      sizes[name] = size;
  for (auto [factor, name] : llvm::enumerate(rule->splitNames())) {
    Layout chunks;
    std::vector<int64_t> segments = strategy.getValue().segmentsOf(factor);
    for (AxisPart part : strategy.getValue().partsSplitting(factor))
      chunks.entries.push_back(
          {part, Placement::shard(0, /*unit=*/1, segments)});
    if (chunks.entries.empty())
      continue;
    std::vector<int64_t> &held = ofName[name];
    for (const Interval &piece : chunks.intervals(strategy.getMesh().getValue(),
                                                  0, sizes[name], frame.rank))
      for (int64_t i = 0; i < piece.size; ++i)
        held.push_back(piece.globalOffset + i);
  }
  return success();
}

/// Of tensor `tensor`: the operands, then the results.
Positions CustomCall::positionsOf(unsigned tensor, RankedTensorType type) {
  unsigned numInputs = op.getInputs().size();
  Positions positions;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    int64_t count = size;
    if (op.getValidDims()) {
      int64_t which =
          cast<DenseI64ArrayAttr>((*op.getValidDims())[tensor])[dim];
      if (which >= 0)
        count = cast<DenseI64ArrayAttr>((*op.getValid())[which])[frame.rank];
    }
    std::vector<int64_t> &list = positions.emplace_back();
    if (rule) {
      const CustomRule::Dims &dims = tensor < numInputs
                                         ? rule->operands[tensor]
                                         : rule->results[tensor - numInputs];
      if (auto held = ofName.find(dims[dim]); held != ofName.end()) {
        list = held->second;
        continue;
      }
    }
    for (int64_t i = 0; i < count; ++i)
      list.push_back(i);
  }
  return positions;
}

LogicalResult CustomCall::forEach(
    const Positions &positions,
    llvm::function_ref<LogicalResult(ArrayRef<int64_t>, int64_t)> visit) {
  SmallVector<int64_t> counts = sizesOf(positions);
  if (llvm::is_contained(counts, 0))
    return success();
  SmallVector<int64_t> which(counts.size(), 0), index(counts.size(), 0);
  int64_t number = 0;
  do {
    for (size_t dim = 0; dim < index.size(); ++dim)
      index[dim] = positions[dim][which[dim]];
    if (failed(visit(index, number++)))
      return failure();
  } while (nextIndex(which, counts));
  return success();
}

LogicalResult CustomCall::addTensor(Value value, const Positions &positions,
                                    std::vector<tp_tensor> &tensors) {
  Type element = getElementTypeOrSelf(value.getType());
  std::optional<int32_t> dtype = dtypeOf(element);
  SmallVector<int64_t> sizes = sizesOf(positions);
  if (!dtype || sizes.size() > TP_MAX_RANK)
    return unrunnable(op) << "cannot be simulated: no function gets a "
                          << value.getType();
  tp_tensor &tensor = tensors.emplace_back();
  tensor = {};
  tensor.dtype = *dtype;
  tensor.rank = static_cast<int32_t>(sizes.size());
  llvm::copy(sizes, tensor.sizes);
  llvm::copy(rowMajorStrides(sizes), tensor.strides);
  bytes.push_back(TensorData(element, sizes).toBytes());
  return success();
}

LogicalResult CustomCall::fill(unsigned number, Value input,
                               const Positions &positions) {
  ShardView view = frame.view(input);
  SmallVector<int64_t> strides = view.array.strides();
  TensorData compact(view.array.elementType(), sizesOf(positions));
  auto read = [&](ArrayRef<int64_t> index, int64_t to) -> LogicalResult {
    int64_t from = view.offset(index, strides);
    if (from < 0)
      return frame.error(op)
             << "reads element " << indexText(index) << " of operand " << number
             << ", which it does not hold";
    if (!view.array.isDefined(from))
      return frame.error(op)
             << "reads element " << indexText(index) << " of operand " << number
             << ", which nothing has written";
    compact.copy(to, view.array, from);
    return success();
  };
  if (failed(forEach(positions, read)))
    return failure();
  bytes[number] = compact.toBytes();
  return success();
}

LogicalResult CustomCall::take(Value result, const Positions &positions,
                               ArrayRef<char> from) {
  ShardView view = frame.view(result, frame.allocate(result.getType()));
  SmallVector<int64_t> strides = view.array.strides();
  std::optional<TensorData> made =
      TensorData::fromBytes(view.array.elementType(), sizesOf(positions), from);
  if (!made)
    return op.emitOpError("has a result of another size than its bytes");
  auto write = [&](ArrayRef<int64_t> index, int64_t number) -> LogicalResult {
    int64_t to = view.offset(index, strides);
    if (to < 0)
      return frame.error(op) << "computes element " << indexText(index)
                             << " of a result, which it does not hold";
    view.array.copy(to, *made, number);
    return success();
  };
  if (failed(forEach(positions, write)))
    return failure();
  frame.values[result] = view.array;
  return success();
}

LogicalResult CustomCall::run() {
  std::string name = op.getOpName().str();
  tp_op function = nullptr;
  if (rt::Status status = rt::findLinkedOp(name, TP_HOST, function);
      !status.ok())
    return unrunnable(op) << "cannot be simulated: " << status.message();
  if (failed(readRule()))
    return failure();
  std::vector<tp_tensor> inputs, outputs;
  std::vector<Positions> all;
  for (auto [i, value] :
       llvm::enumerate(llvm::concat<Value>(llvm::to_vector(op.getInputs()),
                                           llvm::to_vector(op.getResults())))) {
    all.push_back(positionsOf(i, cast<RankedTensorType>(value.getType())));
    bool isInput = i < op.getInputs().size();
    if (failed(addTensor(value, all.back(), isInput ? inputs : outputs)) ||
        (isInput && failed(fill(i, value, all.back()))))
      return failure();
  }
  for (auto [i, tensor] : llvm::enumerate(inputs))
    tensor.data = bytes[i].data();
  for (auto [i, tensor] : llvm::enumerate(outputs))
    tensor.data = bytes[inputs.size() + i].data();
  std::vector<CustomAttribute> read;
  for (NamedAttribute attribute : op.getOpAttributes())
    read.push_back(*CustomAttribute::of(attribute));
  std::vector<tp_attribute> attributes;
  for (const CustomAttribute &each : read)
    attributes.push_back({each.name.c_str(), kindOf(each),
                          int64_t(each.integers.size() + each.numbers.size()),
                          each.integers.data(), each.numbers.data(),
                          each.text ? each.text->c_str() : nullptr});
  if (rt::Status status =
          rt::callLinkedOp(function, {name, inputs, outputs, attributes});
      !status.ok())
    return frame.error(op) << "fails: " << status.message();
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    if (failed(take(result, all[inputs.size() + i], bytes[inputs.size() + i])))
      return failure();
  return success();
}

LogicalResult simulator::evaluateCustom(CustomOp op, Frame &frame) {
  return CustomCall(op, frame).run();
}
