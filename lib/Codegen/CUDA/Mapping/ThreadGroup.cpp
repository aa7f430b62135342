//===- ThreadGroup.cpp - threads that work on one row ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadGroup.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tp::cuda;

Value ThreadGroup::integer(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}

void ThreadGroup::barrier() {
  if (size > warpSize)
    NVVM::Barrier0Op::create(builder, loc);
  else if (size > 1)
    NVVM::SyncWarpOp::create(builder, loc, integer(-1));
}

/// The value of the thread whose number differs in the bit `distance`.
Value ThreadGroup::exchange(Value value, int64_t distance) {
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

Value ThreadGroup::reduce(const Combiner &combiner, Value partial,
                          Value shared) {
  for (int64_t distance = std::min(size, warpSize) / 2; distance; distance /= 2)
    partial =
        combine(builder, loc, combiner, partial, exchange(partial, distance));
  if (size <= warpSize)
    return partial;
  // Every warp's result goes through shared memory to every thread.
  int64_t warps = size / warpSize;
  Type type = partial.getType();
  auto slot = [&](Value number) -> Value {
    Value offset =
        arith::MulIOp::create(builder, loc, number, integer(slotBytes));
    return LLVM::GEPOp::create(builder, loc, shared.getType(),
                               builder.getI8Type(), shared,
                               ArrayRef<LLVM::GEPArg>{offset});
  };
  // All lanes of a warp hold the same.
  LLVM::StoreOp::create(
      builder, loc, packed(builder, loc, partial),
      slot(arith::DivUIOp::create(builder, loc, thread, integer(warpSize))),
      slotBytes);
  barrier();
  Value result = LLVM::LoadOp::create(
      builder, loc, packedType(type),
      slot(arith::RemUIOp::create(builder, loc, thread, integer(warps))),
      slotBytes);
  result = unpacked(builder, loc, result, type);
  for (int64_t distance = warps / 2; distance; distance /= 2)
    result =
        combine(builder, loc, combiner, result, exchange(result, distance));
  return result;
}
