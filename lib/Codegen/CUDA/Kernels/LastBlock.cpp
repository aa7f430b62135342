//===- LastBlock.cpp - what the last block of several does ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where several blocks reduce one row, each leaves its partial results in
// scratch and takes a ticket; whoever takes the last one combines all, always
// in the same order. Tickets are zero between kernels: the last block leaves
// them so. Kernels of a program run one after the other, so they share them.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp::cuda;

static constexpr unsigned globalSpace = 1;

static LLVM::GlobalOp ticketsOf(ModuleOp module) {
  if (auto known = module.lookupSymbol<LLVM::GlobalOp>(ticketSymbol))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI32Type(), mostTickets);
  auto value = DenseElementsAttr::get(
      RankedTensorType::get({mostTickets}, builder.getI32Type()), int32_t(0));
  return LLVM::GlobalOp::create(
      builder, UnknownLoc::get(module.getContext()), type,
      /*isConstant=*/false, LLVM::Linkage::Internal, ticketSymbol, value,
      /*alignment=*/4, globalSpace);
}

/// Whether this block is the last of `splitFactor` that come here with
/// `number`; then it sees what the others wrote before. All threads of the
/// block call it; `slot` is a word of shared memory.
Value KernelBody::isLastOf(int64_t splitFactor, Value number, Value slot) {
  auto module =
      builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  LLVM::GlobalOp tickets = ticketsOf(module);
  Value all = LLVM::AddressOfOp::create(builder, loc, tickets);
  Value ticket =
      LLVM::GEPOp::create(builder, loc, all.getType(), builder.getI32Type(),
                          all, ArrayRef<LLVM::GEPArg>{number});
  // What all threads of the block wrote goes before.
  NVVM::Barrier0Op::create(builder, loc);
  {
    auto first = scf::IfOp::create(builder, loc, less(thread, 1),
                                   /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(first.thenBlock());
    // The back end gives atomics no order of their own.
    auto fence = [&] {
      LLVM::FenceOp::create(builder, loc, LLVM::AtomicOrdering::acq_rel,
                            /*syncscope=*/"device");
    };
    fence();
    Value taken = LLVM::AtomicRMWOp::create(
        builder, loc, LLVM::AtomicBinOp::add, ticket, integer(1),
        LLVM::AtomicOrdering::monotonic, /*syncscope=*/"device");
    fence();
    LLVM::StoreOp::create(builder, loc, taken, slot, 4);
    auto isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        taken, integer(splitFactor - 1));
    auto last =
        scf::IfOp::create(builder, loc, isLast, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(last.thenBlock());
    LLVM::StoreOp::create(builder, loc, integer(0), ticket, 4);
  }
  NVVM::Barrier0Op::create(builder, loc);
  Value taken =
      LLVM::LoadOp::create(builder, loc, builder.getI32Type(), slot, 4);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, taken,
                               integer(splitFactor - 1));
}

/// What the widest of `values` takes in memory.
void KernelBody::setPartialBytes(ArrayRef<Value> values) {
  partialBytes = 1;
  for (Value value : values)
    partialBytes = std::max<int64_t>(
        partialBytes, packedType(value.getType()).getIntOrFloatBitWidth() / 8);
}

/// The place of partial result `accumulator` of `part` in the scratch of the
/// context: [accumulator][part][`owners`].
Value KernelBody::partial(int64_t accumulator, int64_t splitFactor, Value part,
                          int64_t owners, Value owner) {
  if (!scratch) {
    Type type = emitter.context.getType();
    Value field = LLVM::GEPOp::create(builder, loc, type, type, emitter.context,
                                      ArrayRef<LLVM::GEPArg>{10});
    scratch = LLVM::LoadOp::create(builder, loc, type, field);
  }
  scratchBytes = std::max(scratchBytes, (accumulator + 1) * splitFactor *
                                            owners * partialBytes);
  Value at = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, wide(part), integer(owners, 64)),
      wide(owner));
  if (accumulator)
    at = arith::AddIOp::create(builder, loc, at,
                               integer(accumulator * splitFactor * owners, 64));
  Value offset =
      arith::MulIOp::create(builder, loc, at, integer(partialBytes, 64));
  return LLVM::GEPOp::create(builder, loc, scratch.getType(),
                             builder.getI8Type(), scratch,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// Leaves the block's partial results, `values`, where `slotOf` says for its
/// `part`; the first member writes them.
void KernelBody::storePartials(ArrayRef<Value> values, Value part, Value member,
                               SlotOf slotOf) {
  setPartialBytes(values);
  SmallVector<Value> slots;
  for (unsigned i = 0; i < values.size(); ++i)
    slots.push_back(slotOf(i, part));
  auto leader = scf::IfOp::create(builder, loc, less(member, 1),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(leader.thenBlock());
  for (auto [value, slot] : llvm::zip_equal(values, slots))
    LLVM::StoreOp::create(builder, loc, packed(builder, loc, value), slot,
                          partialBytes);
}

/// What the last block makes of the partial results of all parts, of which
/// every member takes some. The combiners repeat over the `count` accumulators.
SmallVector<Value> KernelBody::combinePartials(ArrayRef<Combiner> combiners,
                                               size_t count, Value member,
                                               SlotOf slotOf) {
  SmallVector<Value> neutral;
  for (size_t i = 0; i < count; ++i)
    neutral.push_back(
        identityOf(builder, loc, combiners[i % combiners.size()]));
  return strided(member, mapping.groupSize, mapping.splitFactor, neutral,
                 [&](Value part, ValueRange now) {
                   SmallVector<Value> next;
                   for (auto [i, value] : llvm::enumerate(now)) {
                     Value found = LLVM::LoadOp::create(
                         builder, loc, packedType(value.getType()),
                         slotOf(i, part), partialBytes);
                     next.push_back(combine(
                         builder, loc, combiners[i % combiners.size()], value,
                         unpacked(builder, loc, found, value.getType())));
                   }
                   return next;
                 });
}
