//===- BuildProgram.cpp - decisions of code generation as ops -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildProgram.h"
#include "MemoryOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "tp/IR/CustomOps.h"
#include "tp/IR/Program.h"

using namespace mlir;
using namespace tp::target;

namespace {
class ProgramBuilder {
public:
  ProgramBuilder(func::FuncOp function, const StoragePlan &plan)
      : function(function), plan(plan), builder(function) {}

  func::FuncOp build(const Schedule &list);

private:
  void startFunction();
  void finishFunction();
  Value bufferOf(Value value);
  Value rowMajorOf(Value value);
  MemRefType typeOf(Value value) const;
  Value viewOf(const GemmOperand &operand, int64_t rows, int64_t columns,
               ArrayRef<int64_t> batch);
  Value viewOf(const AttentionOperand &operand, ArrayRef<int64_t> sizes);
  void add(const Command &command);
  void addKernel(const Command &command);
  void addGemm(const Gemm &gemm);
  void addCollective(Operation *op);
  void addCall(tp::CustomOp op);
  Value biasOf(Value tensor, ArrayRef<int64_t> sizes);
  void addAttend(tp::AttendOp op);
  void addAttendBackward(tp::AttendBackwardOp op);
  void addKept(const Command &command);
  tp::AttentionOp addAttention(const Attention &attention);
  void addSteps(tp::AttentionOp op, const Schedule &list,
                const Attention &attention);

  func::FuncOp function, program;
  const StoragePlan &plan;
  OpBuilder builder;
  llvm::DenseMap<Value, Value> buffers;
  /// The command of the function's block that is being built, if its region is.
  Operation *around = nullptr;
};
} // namespace

MemRefType ProgramBuilder::typeOf(Value value) const {
  const Storage &storage = plan.storage(value);
  return orderedMemRef(shapeOf(value), storage.elementType, storage.address);
}

static MemRefType rowMajorType(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

void ProgramBuilder::startFunction() {
  SmallVector<Type> inputs, results;
  for (BlockArgument argument : function.getArguments())
    inputs.push_back(typeOf(argument));
  for (Type type : function.getResultTypes())
    results.push_back(rowMajorType(cast<RankedTensorType>(type)));
  program =
      func::FuncOp::create(builder, function.getLoc(), function.getSymName(),
                           builder.getFunctionType(inputs, results));
  program->setDiscardableAttrs(function->getDiscardableAttrDictionary());
  program.setAllArgAttrs(function.getArgAttrsAttr());
  program.setAllResultAttrs(function.getResAttrsAttr());
  Block *block = program.addEntryBlock();
  for (auto [argument, buffer] :
       llvm::zip_equal(function.getArguments(), block->getArguments())) {
    buffer.setLoc(argument.getLoc());
    buffers[argument] = buffer;
  }
  builder.setInsertionPointToStart(block);
}

/// The memory of `value`, which is allocated before the command that uses it
/// first.
Value ProgramBuilder::bufferOf(Value value) {
  Value &buffer = buffers[value];
  if (buffer)
    return buffer;
  OpBuilder::InsertionGuard guard(builder);
  if (around)
    builder.setInsertionPoint(around);
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    buffer = tp::ConstantOp::create(builder, value.getLoc(), typeOf(value),
                                    cast<ElementsAttr>(constant.getValue()),
                                    IntegerAttr());
  else
    buffer = tp::AllocOp::create(builder, value.getLoc(), typeOf(value),
                                 /*memory=*/Value(), /*offset=*/IntegerAttr());
  return buffer;
}

static Value reinterpret(OpBuilder &builder, Value buffer, int64_t offset,
                         ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  auto from = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> known;
  int64_t at;
  if (from.getShape() == sizes && offset == 0 &&
      succeeded(from.getStridesAndOffset(known, at)) && at == 0 &&
      ArrayRef(known) == strides)
    return buffer;
  auto type = MemRefType::get(
      sizes, from.getElementType(),
      StridedLayoutAttr::get(builder.getContext(), offset, strides));
  return memref::ReinterpretCastOp::create(builder, buffer.getLoc(), type,
                                           buffer, offset, sizes, strides);
}

/// The memory of `value`, whose elements lie row-major there, though what is
/// stored may have another shape.
Value ProgramBuilder::rowMajorOf(Value value) {
  Value buffer = bufferOf(plan.storedBehind(value));
  MemRefType type = rowMajorType(cast<RankedTensorType>(value.getType()));
  if (buffer.getType() == type)
    return buffer;
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  return memref::ReinterpretCastOp::create(
      builder, value.getLoc(), type, buffer, offset, type.getShape(), strides);
}

Value ProgramBuilder::viewOf(const GemmOperand &operand, int64_t rows,
                             int64_t columns, ArrayRef<int64_t> batch) {
  SmallVector<int64_t> sizes(batch), strides(operand.batchStrides);
  sizes.append({rows, columns});
  if (operand.transpose)
    strides.append({1, operand.ld});
  else
    strides.append({operand.ld, 1});
  return reinterpret(builder, bufferOf(operand.root), operand.elementOffset,
                     sizes, strides);
}

Value ProgramBuilder::viewOf(const AttentionOperand &operand,
                             ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(operand.strides);
  if (strides.size() < sizes.size())
    strides.push_back(1);
  return reinterpret(builder, bufferOf(operand.root), operand.elementOffset,
                     sizes, strides);
}

void ProgramBuilder::addKernel(const Command &command) {
  SmallVector<Value> reads, readBuffers, writeBuffers;
  for (Value value : command.reads)
    if (!llvm::is_contained(command.writes, value)) {
      reads.push_back(value);
      readBuffers.push_back(bufferOf(value));
    }
  for (Value value : command.writes)
    writeBuffers.push_back(bufferOf(value));
  const ComputeLoop &computeLoop = *command.fusedKernel->computeLoops.front();
  auto kernel = tp::KernelOp::create(builder, computeLoop.op->getLoc(),
                                     readBuffers, writeBuffers);
  Block *block = &kernel.getBody().emplaceBlock();
  for (Value operand : kernel.getOperands())
    block->addArgument(operand.getType(), operand.getLoc());
  buildKernelBody(builder, plan, computeLoop, reads, command.writes, block);
}

void ProgramBuilder::addGemm(const Gemm &gemm) {
  Value a = viewOf(gemm.a, gemm.m, gemm.k, gemm.batch);
  GemmOperand table = gemm.b;
  table.batchStrides = {gemm.tableStride};
  Value b = gemm.places ? viewOf(table, gemm.k, gemm.n, {gemm.tableSize})
                        : viewOf(gemm.b, gemm.k, gemm.n, gemm.batch);
  Value c = viewOf(gemm.c, gemm.m, gemm.n, gemm.batch);
  Value residual, bias, places;
  if (gemm.residual)
    residual = viewOf(*gemm.residual, gemm.m, gemm.n, gemm.batch);
  if (gemm.bias)
    bias = reinterpret(builder, bufferOf(gemm.bias->root),
                       gemm.bias->elementOffset, {gemm.n}, {1});
  auto maskOf = [&](const std::optional<GemmOperand> &mask, int64_t size) {
    if (!mask)
      return Value();
    SmallVector<int64_t> sizes(gemm.batch), strides(mask->batchStrides);
    sizes.push_back(size);
    strides.push_back(mask->ld);
    return reinterpret(builder, bufferOf(mask->root), mask->elementOffset,
                       sizes, strides);
  };
  Value rows = maskOf(gemm.rows, gemm.m), terms = maskOf(gemm.terms, gemm.k);
  if (gemm.places)
    places = reinterpret(builder, bufferOf(gemm.places->root),
                         gemm.places->elementOffset, gemm.batch,
                         gemm.places->batchStrides);
  tp::GemmOp::create(
      builder, gemm.op->getLoc(), a, b, c, residual, bias, rows, terms, places,
      builder.getF64FloatAttr(gemm.alpha), builder.getF64FloatAttr(gemm.beta),
      gemm.kOfRank.empty() ? DenseI64ArrayAttr()
                           : builder.getDenseI64ArrayAttr(gemm.kOfRank),
      gemm.gelu ? builder.getUnitAttr() : UnitAttr());
}

void ProgramBuilder::addCollective(Operation *op) {
  auto communicate = tp::CommunicateOp::create(builder, op->getLoc(),
                                               rowMajorOf(op->getOperand(0)),
                                               bufferOf(op->getResult(0)));
  Block *block = &communicate.getBody().emplaceBlock();
  block->addArgument(op->getOperand(0).getType(), op->getLoc());
  OpBuilder inner = OpBuilder::atBlockBegin(block);
  IRMapping mapping;
  mapping.map(op->getOperand(0), block->getArgument(0));
  inner.clone(*op, mapping);
}

void ProgramBuilder::addKept(const Command &command) {
  SmallVector<Value> resumed;
  for (Value value : command.reads)
    resumed.push_back(bufferOf(value));
  tp::ResumeOp::create(builder, command.kept->getLoc(), resumed);
}

void ProgramBuilder::addCall(tp::CustomOp op) {
  SmallVector<Value> inputs, outputs;
  for (Value input : op.getInputs())
    inputs.push_back(rowMajorOf(input));
  for (Value result : op.getResults())
    outputs.push_back(bufferOf(result));
  tp::CallOp::create(builder, op.getLoc(), op.getOpName(), inputs, outputs,
                     op.getOpAttributes(), op.getValidAttr(),
                     op.getValidDimsAttr());
}

/// The bias of an attention over all queries and heads: what it does not differ
/// in is read again.
Value ProgramBuilder::biasOf(Value tensor, ArrayRef<int64_t> sizes) {
  Value bias = rowMajorOf(tensor);
  auto type = cast<MemRefType>(bias.getType());
  SmallVector<int64_t> extents(type.getShape()), strides;
  int64_t offset = 0;
  (void)type.getStridesAndOffset(strides, offset);
  for (unsigned dim : {0, 1, 2})
    if (extents[dim] != sizes[dim]) {
      extents[dim] = sizes[dim];
      strides[dim] = 0;
    }
  return reinterpret(builder, bias, offset, extents, strides);
}

/// The bytes of all operands and results.
static int64_t bytesAround(Operation *op) {
  int64_t bytes = 0;
  auto add = [&](TypeRange types) {
    for (Type type : types) {
      auto tensor = cast<RankedTensorType>(type);
      bytes += tensor.getNumElements() * elementBytes(tensor.getElementType());
    }
  };
  add(op->getOperandTypes());
  add(op->getResultTypes());
  return bytes;
}

void ProgramBuilder::addAttend(tp::AttendOp op) {
  ArrayRef<int64_t> sizes = shapeOf(op.getQ());
  Value onto = op.getOnto() ? rowMajorOf(op.getOnto()) : Value();
  int64_t columns = sizes[3] + shapeOf(op.getV())[3];
  int64_t flops = 2 * sizes[0] * sizes[1] * columns * int64_t(op.getPairs());
  auto made = tp::AttentionOp::create(
      builder, op.getLoc(), rowMajorOf(op.getQ()), rowMajorOf(op.getK()),
      rowMajorOf(op.getV()), bufferOf(op.getResult()),
      biasOf(op.getBias(), sizes), onto, op.getScaleAttr(),
      /*lower=*/IntegerAttr(), /*upper=*/IntegerAttr(),
      /*empty_rows=*/StringAttr(), builder.getI64IntegerAttr(flops),
      builder.getI64IntegerAttr(bytesAround(op)), builder.getUnitAttr());
  made.getSteps().emplaceBlock();
}

void ProgramBuilder::addAttendBackward(tp::AttendBackwardOp op) {
  ArrayRef<int64_t> sizes = shapeOf(op.getQ());
  // Three products over the columns of q and k, two over those of v.
  int64_t columns = 3 * sizes[3] + 2 * shapeOf(op.getV())[3];
  Value onto = op.getOnto() ? rowMajorOf(op.getOnto()) : Value();
  int64_t flops = 2 * sizes[0] * sizes[1] * columns * int64_t(op.getPairs());
  tp::AttentionBackwardOp::create(
      builder, op.getLoc(), rowMajorOf(op.getQ()), rowMajorOf(op.getK()),
      rowMajorOf(op.getV()), biasOf(op.getBias(), sizes),
      rowMajorOf(op.getGo()), rowMajorOf(op.getLse()),
      rowMajorOf(op.getDelta()), bufferOf(op.getGq()), bufferOf(op.getGk()),
      bufferOf(op.getGv()), onto, op.getScaleAttr(),
      builder.getI64IntegerAttr(flops),
      builder.getI64IntegerAttr(bytesAround(op)));
}

tp::AttentionOp ProgramBuilder::addAttention(const Attention &attention) {
  Value q = viewOf(attention.q, {attention.batch, attention.heads,
                                 attention.queries, attention.headSize});
  Value k = viewOf(attention.k, {attention.batch, attention.kvHeads,
                                 attention.keys, attention.headSize});
  Value v = viewOf(attention.v, {attention.batch, attention.kvHeads,
                                 attention.keys, attention.valueSize});
  Value o = viewOf(attention.o, {attention.batch, attention.heads,
                                 attention.queries, attention.valueSize});
  Value bias;
  if (attention.bias) {
    // Spans of keys, or a number for every key.
    bool isSpan = plan.storage(attention.bias->root).elementType.isInteger(64);
    bias = viewOf(*attention.bias,
                  {attention.batch, attention.heads, attention.queries,
                   isSpan ? 2 : attention.keys});
  }
  auto integer = [&](std::optional<int64_t> value) {
    return value ? builder.getI64IntegerAttr(*value) : IntegerAttr();
  };
  auto op = tp::AttentionOp::create(
      builder, attention.op->getLoc(), q, k, v, o, bias, /*onto=*/Value(),
      builder.getF64FloatAttr(attention.scale), integer(attention.lower),
      integer(attention.upper),
      attention.emptyRows.empty() ? StringAttr()
                                  : builder.getStringAttr(attention.emptyRows),
      integer(attention.flops), integer(attention.bytes),
      /*partial=*/UnitAttr());
  op.getSteps().emplaceBlock();
  return op;
}

void ProgramBuilder::add(const Command &command) {
  if (command.gemm)
    addGemm(*command.gemm);
  else if (command.kept)
    addKept(command);
  else if (auto custom = dyn_cast_or_null<tp::CustomOp>(command.collective))
    addCall(custom);
  else if (auto attend = dyn_cast_or_null<tp::AttendOp>(command.collective))
    addAttend(attend);
  else if (auto backward =
               dyn_cast_or_null<tp::AttendBackwardOp>(command.collective))
    addAttendBackward(backward);
  else if (command.collective)
    addCollective(command.collective);
  else
    addKernel(command);
}

void ProgramBuilder::finishFunction() {
  SmallVector<Value> results;
  Operation *terminator = function.front().getTerminator();
  for (Value operand : terminator->getOperands())
    results.push_back(rowMajorOf(operand));
  func::ReturnOp::create(builder, terminator->getLoc(), results);
}

void ProgramBuilder::addSteps(tp::AttentionOp op, const Schedule &list,
                              const Attention &attention) {
  around = op;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getSteps().front());
  for (size_t i = attention.first; i <= attention.last; ++i)
    add(list.commands[i]);
  around = nullptr;
}

func::FuncOp ProgramBuilder::build(const Schedule &list) {
  startFunction();
  ArrayRef<Attention> attentions = list.attentions;
  for (size_t i = 0; i < list.commands.size(); ++i) {
    if (attentions.empty() || attentions.front().first != i) {
      add(list.commands[i]);
      continue;
    }
    tp::AttentionOp attention = addAttention(attentions.front());
    if (plan.targetTraits().scoreBytes)
      addSteps(attention, list, attentions.front());
    i = attentions.front().last;
    attentions = attentions.drop_front();
  }
  finishFunction();
  function.erase();
  return program;
}

func::FuncOp tp::target::buildProgram(func::FuncOp function,
                                      const StoragePlan &plan,
                                      const Schedule &list) {
  return ProgramBuilder(function, plan).build(list);
}
