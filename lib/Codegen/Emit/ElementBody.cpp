//===- ElementBody.cpp - code of a body for one element -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tp/IR/CodegenAttributes.h"

using namespace mlir;
using namespace tp::target;

/// An index that is affine in the loops; null if it depends on data.
AffineExpr ElementEmitter::indexOf(Value value, const Indices &loops) {
  if (auto c = getConstantIntValue(value))
    return getAffineConstantExpr(*c, builder.getContext());
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return loops[index.getDim()];
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    return cast.getIn().getType().isInteger(1) ? AffineExpr()
                                               : indexOf(cast.getIn(), loops);
  return {};
}

Value ElementEmitter::extract(tensor::ExtractOp op, const Indices &loops,
                              IRMapping &mapping) {
  Indices index;
  for (auto [position, size] :
       llvm::zip_equal(op.getIndices(), shapeOf(op.getTensor()))) {
    AffineExpr expr = indexOf(position, loops);
    if (expr) {
      IndexRange range = rangeOf(expr, space);
      if (range.lo >= 0 && range.hi < size) {
        index.push_back(expr);
        continue;
      }
    }
    Value at = mapping.lookupOrNull(position);
    if (!at)
      at = scalar(position);
    index.push_back(dataIndex(at, size));
  }
  return element(op.getTensor(), index);
}

/// The symbol of an index that depends on data, clamped into the tensor.
AffineExpr ElementEmitter::dataIndex(Value position, int64_t size) {
  if (sharesOps)
    if (AffineExpr known = dataSymbols.lookup({position, size}))
      return known;
  Value at =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), position);
  AffineExpr symbol = addSymbol(clamp(at, 0, size - 1), {0, size - 1});
  dataSymbols[{position, size}] = symbol;
  return symbol;
}

void ElementEmitter::check(cf::AssertOp op, Value condition) {
  int id = asserts.idOf(op);
  Value failed = arith::XOrIOp::create(
      builder, loc, condition,
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  if (isOwn)
    failed = arith::AndIOp::create(builder, loc, failed, isOwn);
  auto branch = scf::IfOp::create(builder, loc, failed, /*withElse=*/false);
  branch->setAttr(tp::attr::check, builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  Type pointerType = context.getType();
  // tp_kernel_context: axis_coordinate[8], rank, status, scratch.
  Value field = elementPointer(context, pointerType, constant(9));
  Value status = LLVM::LoadOp::create(builder, loc, pointerType, field);
  Type i32 = builder.getI32Type();
  Value current = LLVM::LoadOp::create(builder, loc, i32, status);
  Value free = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                     current, zero(i32));
  Value mine =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(id));
  Value next = arith::SelectOp::create(builder, loc, free, mine, current);
  LLVM::StoreOp::create(builder, loc, next, status);
}

/// What may be reordered: sums and products of a reduction are taken in any
/// order, products and sums may fuse. Nothing here lets NaN, infinities or the
/// signs of zeros be assumed away.
static void relaxMath(Operation *op, bool combines) {
  auto flags = arith::FastMathFlags::none;
  if (isa<arith::AddFOp, arith::MulFOp, arith::SubFOp>(op))
    flags = arith::FastMathFlags::contract;
  if (combines && isa<arith::AddFOp, arith::MulFOp>(op))
    flags = flags | arith::FastMathFlags::reassoc;
  if (flags != arith::FastMathFlags::none)
    op->setAttr("fastmath",
                arith::FastMathFlagsAttr::get(op->getContext(), flags));
}

/// The ops of the body that the wanted results or a check depend on.
static llvm::DenseSet<Operation *> liveOps(linalg::LinalgOp op,
                                           ArrayRef<Value> accumulators) {
  llvm::DenseSet<Operation *> live;
  SmallVector<Value> work;
  Operation *yield = op.getBlock()->getTerminator();
  for (auto [number, value] : llvm::enumerate(yield->getOperands()))
    if (accumulators.empty() || accumulators[number])
      work.push_back(value);
  for (auto assertion : op.getBlock()->getOps<cf::AssertOp>()) {
    live.insert(assertion);
    work.push_back(assertion.getArg());
  }
  while (!work.empty()) {
    Operation *producer = work.pop_back_val().getDefiningOp();
    if (producer && producer->getBlock() == op.getBlock() &&
        live.insert(producer).second)
      llvm::append_range(work, producer->getOperands());
  }
  return live;
}

SmallVector<Value> ElementEmitter::body(linalg::LinalgOp op,
                                        const Indices &loops,
                                        ArrayRef<Value> accumulators) {
  Key key = keyOf(op.getOperation(), loops);
  if (auto known = bodies.find(key); known != bodies.end())
    return known->second;
  IRMapping mapping;
  llvm::DenseSet<Operation *> live = liveOps(op, accumulators);
  Operation *yield = op.getBlock()->getTerminator();
  auto isLive = [&](Operation *user) {
    return user == yield || live.contains(user);
  };
  llvm::SmallPtrSet<Value, 4> accumulatorArguments;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (!argument || llvm::none_of(argument.getUsers(), isLive))
      continue;
    if (op.isDpsInit(&operand) && !accumulators.empty()) {
      unsigned number = operand.getOperandNumber() - op.getNumDpsInputs();
      mapping.map(argument, accumulators[number]);
      accumulatorArguments.insert(argument);
      continue;
    }
    if (!isa<RankedTensorType>(operand.get().getType())) {
      mapping.map(argument, scalar(operand.get()));
      continue;
    }
    mapping.map(argument, element(operand.get(),
                                  applyMap(op.getMatchingIndexingMap(&operand),
                                           loops, {}, space)));
  }
  SmallVector<Value> yielded;
  for (Operation &inner : *op.getBlock()) {
    if (&inner == yield) {
      for (auto [number, operand] : llvm::enumerate(inner.getOperands())) {
        bool wanted = accumulators.empty() || accumulators[number];
        Value value = wanted ? mapping.lookupOrNull(operand) : Value();
        yielded.push_back(wanted && !value ? scalar(operand) : value);
      }
      continue;
    }
    if (!live.contains(&inner))
      continue;
    // Captured scalars come from the function.
    for (Value operand : inner.getOperands())
      if (!isa<TensorType>(operand.getType()) && !mapping.contains(operand))
        mapping.map(operand, scalar(operand));
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      Operation *cast =
          arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                     emitIndex(loops[index.getDim()]));
      mapping.map(index.getResult(), share(cast)->getResult(0));
    } else if (auto extracted = dyn_cast<tensor::ExtractOp>(inner)) {
      mapping.map(extracted.getResult(), extract(extracted, loops, mapping));
    } else if (auto assertion = dyn_cast<cf::AssertOp>(inner)) {
      check(assertion, mapping.lookup(assertion.getArg()));
    } else {
      bool combines = llvm::any_of(inner.getOperands(), [&](Value operand) {
        return accumulatorArguments.contains(operand);
      });
      Operation *copy = builder.clone(inner, mapping);
      // Bodies of named ops were not written down anywhere.
      if (isa<UnknownLoc>(copy->getLoc()))
        copy->setLoc(op.getLoc());
      relaxMath(copy, combines);
      Operation *used = share(copy);
      if (used == copy && inner.getNumResults() == 1 &&
          isa<FloatType>(inner.getResult(0).getType()) &&
          !isa<arith::ConstantOp>(inner))
        ++floatOperations;
      for (auto [result, made] :
           llvm::zip_equal(inner.getResults(), used->getResults()))
        mapping.map(result, made);
    }
  }
  bodies[key] = yielded;
  return yielded;
}
