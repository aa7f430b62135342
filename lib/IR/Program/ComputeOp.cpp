//===- ComputeOp.cpp - the compute loops of a kernel ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/Program.h"

using namespace mlir;
using namespace tp;

LogicalResult
ComputeOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                            ValueRange operands, DictionaryAttr attributes,
                            OpaqueProperties properties, RegionRange regions,
                            SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  llvm::append_range(inferred, adaptor.getValues().getTypes());
  return success();
}

void ComputeOp::build(OpBuilder &builder, OperationState &state,
                      ValueRange values, ArrayRef<int64_t> rows,
                      ValueRange buffers) {
  build(builder, state, values.getTypes(), values, rows, buffers,
        /*starts=*/ValueRange(), /*sizes=*/ArrayRef<int64_t>(),
        /*along=*/ArrayRef<int64_t>(), /*scattered=*/ArrayRef<int64_t>(),
        /*places=*/ValueRange(), /*condition=*/Value());
}

int64_t ComputeOp::getWrittenElements() {
  auto type = cast<RankedTensorType>(getValues().front().getType());
  int64_t elements = type.getNumElements();
  for (auto [size, dim] : llvm::zip_equal(getSizes(), getAlong()))
    if (elements)
      elements = elements / type.getDimSize(dim) *
                 std::min(size, type.getDimSize(dim));
  return elements;
}

/// A part is that of one value in memory.
static LogicalResult verifyPart(ComputeOp op) {
  if (op.getSizes().size() != op.getStarts().size() ||
      op.getAlong().size() != op.getStarts().size())
    return op.emitOpError() << "expected a size and a dimension for each start";
  if (op.getStarts().empty())
    return success();
  if (op.getValues().size() != 1 || op.getBuffers().size() != 1)
    return op.emitOpError() << "a part is that of one value in one buffer";
  int64_t rank = cast<RankedTensorType>(op.getValues()[0].getType()).getRank();
  for (auto [i, dim] : llvm::enumerate(op.getAlong()))
    if (dim < 0 || dim >= rank ||
        llvm::is_contained(op.getAlong().take_front(i), dim))
      return op.emitOpError() << "'along' has dimensions of the value, each "
                                 "once, got "
                              << dim;
  for (int64_t size : op.getSizes())
    if (size < 0)
      return op.emitOpError() << "a size is 0 or more, got " << size;
  return success();
}

/// Which loops there are is known where the kernel is planned.
static LogicalResult verifyScatter(ComputeOp op) {
  if (op.getScattered().size() != op.getPlaces().size())
    return op.emitOpError() << "expected a place for each scattered loop";
  if (!op.getPlaces().empty() &&
      (op.getBuffers().size() != op.getValues().size() ||
       !op.getStarts().empty() || !op.getRows().empty()))
    return op.emitOpError() << "a scatter writes whole buffers, without rows";
  return success();
}

static LogicalResult verifyCondition(ComputeOp op) {
  if (!op.getCondition())
    return success();
  if (op.getValues().size() != 1 || op.getBuffers().size() != 1 ||
      !op.getStarts().empty() || !op.getPlaces().empty() ||
      !op.getRows().empty())
    return op.emitOpError() << "a condition is that of one value in one "
                               "buffer, without rows, parts and scatters";
  auto type = cast<RankedTensorType>(op.getValues().front().getType());
  if (!isShapeOrOne(op.getCondition().getType(), type))
    return op.emitOpError() << "expected a condition with the value's "
                               "dimensions, each of its size or of 1, got "
                            << type << " and " << op.getCondition().getType();
  return success();
}

LogicalResult ComputeOp::verify() {
  if (getValues().empty())
    return emitOpError() << "expected a value";
  for (auto [i, value] : llvm::enumerate(getValues()))
    if (llvm::is_contained(getValues().take_front(i), value))
      return emitOpError() << "a value is computed once, got value #" << i
                           << " twice";
  if (getResultTypes() != getValues().getTypes())
    return emitOpError() << "a result has the type of its value";
  if (getValues().size() > 1) {
    Operation *producer = getValues().front().getDefiningOp();
    for (Value value : getValues())
      if (!producer || value.getDefiningOp() != producer)
        return emitOpError() << "several values are results of one op";
  }
  if (failed(verifyPart(*this)) || failed(verifyScatter(*this)) ||
      failed(verifyCondition(*this)))
    return failure();
  if (!getBuffers().empty() && getBuffers().size() != getValues().size())
    return emitOpError() << "expected no buffer or one per value, got "
                         << getBuffers().size() << " for "
                         << getValues().size();
  for (auto [value, buffer] : llvm::zip(getValues(), getBuffers())) {
    auto tensor = cast<RankedTensorType>(value.getType());
    auto memref = cast<MemRefType>(buffer.getType());
    if (tensor.getShape() != memref.getShape() ||
        tensor.getElementType() != memref.getElementType())
      return emitOpError() << "a value and its buffer have one shape and "
                              "element type, got "
                           << tensor << " and " << memref;
  }
  return success();
}
