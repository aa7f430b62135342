//===- ProgramOps.cpp - the ops of a rank's program -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandOperands.h"
#include "tp/IR/Collective.h"
#include "tp/IR/Queues/Queues.h"

using namespace mlir;
using namespace tp;

#define GET_OP_CLASSES
#include "tp/IR/ProgramOps.cpp.inc"

#include "tp/IR/QueueEnums.cpp.inc"

#define GET_OP_CLASSES
#include "tp/IR/QueueOps.cpp.inc"

static void addReads(Effects &effects, MutableArrayRef<OpOperand> operands) {
  for (OpOperand &operand : operands)
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
}

static void addWrites(Effects &effects, MutableArrayRef<OpOperand> operands) {
  for (OpOperand &operand : operands)
    effects.emplace_back(MemoryEffects::Write::get(), &operand);
}

/// Whether an offset is none, or one that memory may have.
static LogicalResult verifyOffset(Operation *op,
                                  std::optional<uint64_t> offset) {
  if (offset && int64_t(*offset) < 0)
    return op->emitOpError()
           << "an offset is 0 or more, got " << int64_t(*offset);
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void AllocOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(),
                       getOperation()->getResult(0));
}

LogicalResult AllocOp::verify() {
  if (!getMemory())
    return verifyOffset(*this, getOffset());
  auto memory = cast<MemRefType>(getMemory().getType());
  auto type = cast<MemRefType>(getResult().getType());
  if (memory.getElementType() != type.getElementType() ||
      memory.getNumElements() != type.getNumElements())
    return emitOpError() << "has as many elements as the memory that it is in, "
                            "of one type, got "
                         << type << " in " << memory;
  if (getOffset())
    return emitOpError() << "is in an argument's memory, expected no offset";
  return success();
}

LogicalResult ConstantOp::verify() {
  auto type = cast<MemRefType>(getResult().getType());
  ShapedType value = getValue().getShapedType();
  if (value.getShape() != type.getShape() ||
      value.getElementType() != type.getElementType())
    return emitOpError() << "the memref has the shape and the element type of "
                         << value << ", got " << type;
  if (!isa<DenseElementsAttr>(getValue()))
    return emitOpError() << "expected dense elements, got " << getValue();
  if (!type.getLayout().isIdentity())
    return emitOpError() << "constants are row-major, got " << type;
  return verifyOffset(*this, getOffset());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void KernelOp::getEffects(Effects &effects) {
  addReads(effects, getReadsMutable());
  addWrites(effects, getWritesMutable());
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getOperandTypes())
    return emitOpError() << "the block has one argument for each buffer that "
                            "is read and each that is written, of its type";
  unsigned numReads = getReads().size();
  for (BlockArgument argument : block.getArguments())
    for (Operation *user : argument.getUsers()) {
      bool writes = isa<ComputeOp>(user);
      if (writes == (argument.getArgNumber() >= numReads))
        continue;
      InFlightDiagnostic error = emitOpError()
                                 << "buffer #" << argument.getArgNumber();
      if (writes)
        error << " is one that is read, but is written";
      else
        error << " is one that is written, but is read: use the result of its "
                 "tp.compute";
      error.attachNote(user->getLoc()) << "by this op";
      return error;
    }
  for (Value buffer : getWrites())
    if (llvm::is_contained(getReads(), buffer) ||
        llvm::count(getWrites(), buffer) > 1)
      return emitOpError() << "a buffer that is written is given once";
  for (BlockArgument argument : block.getArguments().drop_front(numReads))
    if (!argument.hasOneUse())
      return emitOpError("expected one tp.compute that writes buffer #")
             << argument.getArgNumber();
  return success();
}

void LaunchOp::getEffects(Effects &effects) {
  for (auto [i, operand] : llvm::enumerate(getBuffersMutable())) {
    if (getRead()[i])
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (getWritten()[i])
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

LogicalResult LaunchOp::verify() {
  if (getRead().size() != getBuffers().size() ||
      getWritten().size() != getBuffers().size())
    return emitOpError() << "'read' and 'written' tell of each of the "
                         << getBuffers().size() << " buffers";
  if (getGrid().has_value() != getBlock().has_value())
    return emitOpError() << "expected a grid and a block, or neither";
  for (std::optional<ArrayRef<int64_t>> sizes : {getGrid(), getBlock()})
    if (sizes && (sizes->size() != 3 ||
                  llvm::any_of(*sizes, [](int64_t size) { return size < 1; })))
      return emitOpError()
             << "a grid and a block have three sizes of 1 or more";
  return success();
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// Whether `type` has one stride per dimension.
static bool isStrided(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

LogicalResult tp::verifyStrided(Operation *op) {
  for (Value operand : op->getOperands())
    if (!isStrided(cast<MemRefType>(operand.getType())))
      return op->emitOpError() << "operands have one stride per dimension, got "
                               << operand.getType();
  return success();
}

void tp::addOtherReads(OpOperand &written, Effects &effects) {
  for (OpOperand &operand : written.getOwner()->getOpOperands())
    if (&operand != &written)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
}

void GemmOp::getEffects(Effects &effects) {
  addOtherReads(getCMutable(), effects);
  if (!getBeta().isZero() && !getResidual() && !getBias())
    effects.emplace_back(MemoryEffects::Read::get(), &getCMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getCMutable());
}

LogicalResult GemmOp::verify() {
  if (failed(verifyStrided(*this)))
    return failure();
  ArrayRef<int64_t> a = shapeOf(getA()), b = shapeOf(getB()),
                    c = shapeOf(getC());
  size_t rank = a.size();
  bool isTable = getPlaces() != nullptr;
  bool fits = rank >= 2 && b.size() == (isTable ? 3 : rank) &&
              c.size() == rank &&
              (isTable || a.drop_back(2) == b.drop_back(2)) &&
              a.drop_back(2) == c.drop_back(2) && a.back() == b.end()[-2] &&
              c[rank - 2] == a[rank - 2] && c.back() == b.back();
  if (isTable && fits &&
      (b.front() == 0 || shapeOf(getPlaces()) != a.drop_back(2) ||
       !getElementTypeOrSelf(getPlaces()).isInteger(64)))
    return emitOpError() << "the places of matrices are i64 of batch, got "
                         << getPlaces().getType();
  if (!fits)
    return emitOpError() << "expected batch x m x k, batch x k x n and batch x "
                            "m x n, got "
                         << getA().getType() << ", " << getB().getType()
                         << " and " << getC().getType();
  if (getResidual() && shapeOf(getResidual()) != c)
    return emitOpError() << "the residual has the result's shape, got "
                         << getResidual().getType();
  if (getBias() && shapeOf(getBias()) != ArrayRef<int64_t>{c.back()})
    return emitOpError() << "the bias has " << c.back() << " elements, got "
                         << getBias().getType();
  if (getRows() && (shapeOf(getRows()) != c.drop_back() ||
                    !getElementTypeOrSelf(getRows()).isInteger(1)))
    return emitOpError() << "the rows are i1 of batch x m, got "
                         << getRows().getType();
  if (getRows() &&
      (!getBeta().isZero() || getResidual() || getBias() || getGelu()))
    return emitOpError() << "with rows has beta 0, and nothing is added";
  SmallVector<int64_t> terms(c.drop_back(2));
  terms.push_back(a.back());
  if (getTerms() && (shapeOf(getTerms()) != ArrayRef(terms) ||
                     !getElementTypeOrSelf(getTerms()).isInteger(1)))
    return emitOpError() << "the terms are i1 of batch x k, got "
                         << getTerms().getType();
  if (getTerms() && (getRows() || getResidual() || getBias() || getGelu()))
    return emitOpError() << "with terms has no rows, and nothing is added";
  for (int64_t k : getKOfRank().value_or(ArrayRef<int64_t>()))
    if (k < 0 || k > a.back())
      return emitOpError() << "a rank's k is at most " << a.back() << ", got "
                           << k;
  return success();
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

void CommunicateOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getDestinationMutable());
}

LogicalResult CommunicateOp::verify() {
  Block &block = getBody().front();
  if (block.getOperations().size() != 1 || !isCollective(getCollective()) ||
      block.getNumArguments() != 1 ||
      getCollective()->getOperand(0) != block.getArgument(0))
    return emitOpError()
           << "expected one collective that reads the block's argument";
  auto matches = [](Type memref, Type tensor) {
    auto buffer = cast<MemRefType>(memref);
    auto value = cast<RankedTensorType>(tensor);
    return buffer.getShape() == value.getShape() &&
           buffer.getElementType() == value.getElementType() &&
           !value.getEncoding();
  };
  if (!matches(getSource().getType(), block.getArgument(0).getType()) ||
      !matches(getDestination().getType(),
               getCollective()->getResult(0).getType()))
    return emitOpError() << "the buffers have the shapes and the element type "
                            "of the collective, got "
                         << getSource().getType() << " and "
                         << getDestination().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Queues
//===----------------------------------------------------------------------===//

LogicalResult WaitOp::verify() {
  auto signal = getEvent().getDefiningOp<SignalOp>();
  if (!signal)
    return emitOpError() << "expected an event of tp.signal";
  if (signal.getQueue() == getQueue())
    return emitOpError() << "a queue runs its commands in order, expected an "
                            "event of another queue than '"
                         << stringifyQueue(getQueue()) << "'";
  return success();
}
