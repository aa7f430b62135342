//===- Attentions.cpp - attentions in the manifest ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "tp/IR/Program.h"

using namespace mlir;
using namespace tp::target;
namespace rt = tp::runtime;

static ArrayRef<int64_t> extentsOf(Value value) {
  return cast<MemRefType>(value.getType()).getShape();
}

static Type elementsOf(Value value) {
  return cast<MemRefType>(value.getType()).getElementType();
}

static SmallVector<int64_t> stridesOf(Value value) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  [[maybe_unused]] LogicalResult known =
      cast<MemRefType>(value.getType()).getStridesAndOffset(strides, offset);
  assert(succeeded(known) && "the op's verifier asks for strides");
  return strides;
}

/// An operand whose rows are contiguous, of the type `elements`.
static FailureOr<rt::AttentionOperand> describeOperand(Operation *op,
                                                       const Buffers &buffers,
                                                       Value value,
                                                       Type elements) {
  SmallVector<int64_t> strides = stridesOf(value);
  if (elementsOf(value) != elements ||
      (strides.back() != 1 && extentsOf(value).back() != 1))
    return op->emitOpError("expected contiguous columns of ")
           << elements << ", got " << value.getType();
  rt::AttentionOperand operand;
  operand.buffer = bufferRef(buffers, value);
  llvm::copy(ArrayRef(strides).drop_back(), operand.strides.begin());
  return operand;
}

/// What the weights of an attention are made of.
template <typename Op>
static LogicalResult describeWeights(Op op, const Buffers &buffers,
                                     rt::AttentionWeights &to) {
  ArrayRef<int64_t> q = extentsOf(op.getQ()), k = extentsOf(op.getK());
  to.dtype = dataTypeOf(elementsOf(op.getQ()));
  to.batch = q[0];
  to.heads = q[1];
  to.kvHeads = k[1];
  to.queries = q[2];
  to.keys = k[2];
  to.headSize = q[3];
  to.valueSize = extentsOf(op.getV())[3];
  to.scale = op.getScale().convertToDouble();
  for (auto [value, operand] :
       {std::pair(op.getQ(), &to.q), std::pair(op.getK(), &to.k),
        std::pair(op.getV(), &to.v)}) {
    FailureOr<rt::AttentionOperand> found =
        describeOperand(op, buffers, value, elementsOf(op.getQ()));
    if (failed(found))
      return failure();
    *operand = *found;
  }
  if (Value bias = op.getBias()) {
    to.bias.emplace();
    to.bias->buffer = bufferRef(buffers, bias);
    to.bias->dtype = dataTypeOf(elementsOf(bias));
    llvm::copy(stridesOf(bias), to.bias->strides.begin());
  }
  return success();
}

FailureOr<rt::AttentionBackwardCommand>
tp::target::describeAttention(tp::AttentionBackwardOp op,
                              const Buffers &buffers) {
  rt::AttentionBackwardCommand command;
  if (failed(describeWeights(op, buffers, command)))
    return failure();
  Type elements = elementsOf(op.getQ()), sums = elementsOf(op.getLse()),
       gradients = elementsOf(op.getGq());
  command.gradientType = dataTypeOf(gradients);
  for (auto [value, type, operand] :
       {std::tuple(op.getGo(), elements, &command.go),
        std::tuple(op.getLse(), sums, &command.lse),
        std::tuple(op.getDelta(), sums, &command.delta),
        std::tuple(op.getGq(), gradients, &command.gq),
        std::tuple(op.getGk(), gradients, &command.gk),
        std::tuple(op.getGv(), gradients, &command.gv)}) {
    FailureOr<rt::AttentionOperand> found =
        describeOperand(op, buffers, value, type);
    if (failed(found))
      return failure();
    *operand = *found;
  }
  if (op.getOnto())
    command.onto = bufferRef(buffers, op.getOnto());
  command.flops = op.getFlops();
  command.bytes = op.getBytes();
  return command;
}

FailureOr<rt::AttentionCommand>
tp::target::describeAttention(tp::AttentionOp op, const Buffers &buffers) {
  rt::AttentionCommand command;
  if (failed(describeWeights(op, buffers, command)))
    return failure();
  auto integer = [](std::optional<uint64_t> value) {
    return value ? std::optional(int64_t(*value)) : std::nullopt;
  };
  command.lower = integer(op.getLower());
  command.upper = integer(op.getUpper());
  if (op.getEmptyRows() == "zero")
    command.emptyRows = rt::EmptyRows::Zero;
  else if (op.getEmptyRows() == "nan")
    command.emptyRows = rt::EmptyRows::NaN;
  // The op's verifier knows the type of a state.
  FailureOr<rt::AttentionOperand> output =
      describeOperand(op, buffers, op.getO(),
                      elementsOf(op.getPartial() ? op.getO() : op.getQ()));
  if (failed(output))
    return failure();
  command.o = *output;
  command.isPartial = op.getPartial();
  if (op.getOnto())
    command.onto = bufferRef(buffers, op.getOnto());
  command.flops = op.getFlops();
  command.bytes = op.getBytes();
  return command;
}
