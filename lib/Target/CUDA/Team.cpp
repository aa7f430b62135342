//===- Team.cpp - threads that work on one row ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Team.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tp::cuda;

static APFloat neutralFloat(Operation *op, const llvm::fltSemantics &format) {
  if (isa<arith::MulFOp>(op))
    return APFloat::getOne(format);
  if (isa<arith::MaximumFOp>(op))
    return APFloat::getInf(format, /*Negative=*/true);
  if (isa<arith::MinimumFOp>(op))
    return APFloat::getInf(format);
  // Of a number and NaN they take the number.
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(op))
    return APFloat::getNaN(format);
  return APFloat::getZero(format, /*Negative=*/true);
}

static APInt neutralInteger(Operation *op, unsigned width) {
  if (isa<arith::MulIOp>(op))
    return APInt(width, 1);
  if (isa<arith::MaxSIOp>(op))
    return APInt::getSignedMinValue(width);
  if (isa<arith::MinSIOp>(op))
    return APInt::getSignedMaxValue(width);
  if (isa<arith::MinUIOp, arith::AndIOp>(op))
    return APInt::getAllOnes(width);
  return APInt::getZero(width);
}

Value tp::cuda::neutralElement(OpBuilder &builder, Location loc,
                               const Combiner &combiner) {
  Type type = combiner.op->getResult(0).getType();
  if (auto real = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        builder, loc,
        builder.getFloatAttr(
            type, neutralFloat(combiner.op, real.getFloatSemantics())));
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(type, neutralInteger(combiner.op, width)));
}

Value tp::cuda::combine(OpBuilder &builder, Location loc,
                        const Combiner &combiner, Value a, Value b) {
  OperationState state(loc, combiner.op->getName(), ValueRange{a, b},
                       combiner.op->getResultTypes(), combiner.op->getAttrs());
  return builder.create(state)->getResult(0);
}

Value Team::integer(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}

void Team::barrier() {
  if (size > warpSize)
    NVVM::Barrier0Op::create(builder, loc);
  else if (size > 1)
    NVVM::SyncWarpOp::create(builder, loc, integer(-1));
}

/// The value of the thread whose number differs in the bit `distance`.
Value Team::exchange(Value value, int64_t distance) {
  Type type = value.getType(), i32 = builder.getI32Type();
  if (type.isIndex()) {
    value =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
    return arith::IndexCastOp::create(builder, loc, type,
                                      exchange(value, distance));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = builder.getIntegerType(width);
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(builder, loc, bits, value);
  auto move = [&](Value word) -> Value {
    return NVVM::ShflOp::create(builder, loc, i32, integer(-1), word,
                                integer(distance), integer(warpSize - 1),
                                NVVM::ShflKind::bfly, UnitAttr());
  };
  Value moved;
  if (width == 64) {
    Value half =
        arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
    Value low = arith::TruncIOp::create(builder, loc, i32, value);
    Value high = arith::TruncIOp::create(
        builder, loc, i32, arith::ShRUIOp::create(builder, loc, value, half));
    low = arith::ExtUIOp::create(builder, loc, bits, move(low));
    high = arith::ExtUIOp::create(builder, loc, bits, move(high));
    moved = arith::OrIOp::create(
        builder, loc, low, arith::ShLIOp::create(builder, loc, high, half));
  } else if (width == 32) {
    moved = move(value);
  } else {
    moved = arith::TruncIOp::create(
        builder, loc, bits,
        move(arith::ExtUIOp::create(builder, loc, i32, value)));
  }
  if (isa<FloatType>(type))
    moved = arith::BitcastOp::create(builder, loc, type, moved);
  return moved;
}

Value Team::reduce(const Combiner &combiner, Value partial, Value shared) {
  for (int64_t distance = std::min(size, warpSize) / 2; distance; distance /= 2)
    partial =
        combine(builder, loc, combiner, partial, exchange(partial, distance));
  if (size <= warpSize)
    return partial;
  // Every warp's result goes through shared memory to every thread.
  int64_t warps = size / warpSize;
  Type type = partial.getType();
  bool isIndex = type.isIndex(), isBit = type.isInteger(1);
  Type kept = isIndex ? builder.getI64Type()
              : isBit ? builder.getI8Type()
                      : type;
  Value stored = partial;
  if (isIndex)
    stored = arith::IndexCastOp::create(builder, loc, kept, partial);
  else if (isBit)
    stored = arith::ExtUIOp::create(builder, loc, kept, partial);
  constexpr int64_t slotBytes = 8;
  auto slot = [&](Value number) -> Value {
    Value offset =
        arith::MulIOp::create(builder, loc, number, integer(slotBytes));
    return LLVM::GEPOp::create(builder, loc, shared.getType(),
                               builder.getI8Type(), shared,
                               ArrayRef<LLVM::GEPArg>{offset});
  };
  // All lanes of a warp hold the same.
  LLVM::StoreOp::create(
      builder, loc, stored,
      slot(arith::DivUIOp::create(builder, loc, thread, integer(warpSize))),
      slotBytes);
  barrier();
  Value result = LLVM::LoadOp::create(
      builder, loc, kept,
      slot(arith::RemUIOp::create(builder, loc, thread, integer(warps))),
      slotBytes);
  if (isIndex)
    result = arith::IndexCastOp::create(builder, loc, type, result);
  else if (isBit)
    result = arith::TruncIOp::create(builder, loc, type, result);
  for (int64_t distance = warps / 2; distance; distance /= 2)
    result =
        combine(builder, loc, combiner, result, exchange(result, distance));
  return result;
}
