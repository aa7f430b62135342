//===- BFloatRounding.cpp - rounding to bf16 without a library ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BFloatRounding.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

static bool usesBFloat(const Module &module) {
  for (const Function &function : module)
    for (const BasicBlock &block : function)
      for (const Instruction &instruction : block) {
        if (instruction.getType()->getScalarType()->isBFloatTy())
          return true;
        for (const Value *operand : instruction.operands())
          if (operand->getType()->getScalarType()->isBFloatTy())
            return true;
      }
  return false;
}

/// The upper half of an f32, rounded to nearest even; NaN stays NaN.
static Value *roundFloat(IRBuilder<> &builder, Value *value) {
  Value *bits = builder.CreateBitCast(value, builder.getInt32Ty());
  Value *upper = builder.CreateLShr(bits, 16);
  Value *bias =
      builder.CreateAdd(builder.CreateAnd(upper, 1), builder.getInt32(0x7fff));
  Value *rounded = builder.CreateLShr(builder.CreateAdd(bits, bias), 16);
  Value *quiet = builder.CreateOr(upper, 0x40);
  Value *half =
      builder.CreateSelect(builder.CreateFCmpUNO(value, value), quiet, rounded);
  return builder.CreateBitCast(builder.CreateTrunc(half, builder.getInt16Ty()),
                               builder.getBFloatTy());
}

/// An f64 as f32 rounded to odd: whatever was cut off shows in the last bit, so
/// that rounding once more gives what rounding once would have.
static Value *roundToOdd(IRBuilder<> &builder, Value *value) {
  Value *nearest = builder.CreateFPTrunc(value, builder.getFloatTy());
  Value *back = builder.CreateFPExt(nearest, builder.getDoubleTy());
  auto magnitude = [&](Value *x) {
    return builder.CreateAnd(builder.CreateBitCast(x, builder.getInt64Ty()),
                             builder.getInt64(INT64_MAX));
  };
  Value *isLarger = builder.CreateICmpUGT(magnitude(back), magnitude(value));
  Value *bits = builder.CreateBitCast(nearest, builder.getInt32Ty());
  Value *towardsZero = builder.CreateSub(
      bits, builder.CreateZExt(isLarger, builder.getInt32Ty()));
  Value *odd = builder.CreateOr(towardsZero, 1);
  // Ordered: NaN stays as it is.
  Value *isInexact = builder.CreateFCmpONE(back, value);
  return builder.CreateBitCast(builder.CreateSelect(isInexact, odd, bits),
                               builder.getFloatTy());
}

void tp::target::defineBFloatRounding(Module &module) {
  if (!usesBFloat(module))
    return;
  LLVMContext &context = module.getContext();
  for (bool isDouble : {false, true}) {
    Type *from =
        isDouble ? Type::getDoubleTy(context) : Type::getFloatTy(context);
    FunctionCallee callee = module.getOrInsertFunction(
        isDouble ? "__truncdfbf2" : "__truncsfbf2",
        FunctionType::get(Type::getBFloatTy(context), {from}, false));
    auto *function = cast<Function>(callee.getCallee());
    function->setVisibility(GlobalValue::HiddenVisibility);
    function->setDoesNotThrow();
    IRBuilder<> builder(BasicBlock::Create(context, "", function));
    Value *value = function->getArg(0);
    builder.CreateRet(
        roundFloat(builder, isDouble ? roundToOdd(builder, value) : value));
  }
}
