//===- MPIMessages.cpp - messages between the ranks of a group ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MPIMessages.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp;

static Value indexConstant(ImplicitLocOpBuilder &builder, int64_t value) {
  return arith::ConstantIndexOp::create(builder, value);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static Value allocate(ImplicitLocOpBuilder &builder, int64_t count,
                      Type element) {
  return memref::AllocOp::create(builder, MemRefType::get({count}, element));
}

/// Copies `tensor` into `buffer`. A copy, and not `bufferization.to_buffer`:
/// bufferization does not see that a message reads the buffer later.
static void store(ImplicitLocOpBuilder &builder, Value tensor, Value buffer) {
  bufferization::MaterializeInDestinationOp::create(
      builder, Type(), tensor, buffer, /*restrict=*/true, /*writable=*/true);
}

static Value load(ImplicitLocOpBuilder &builder, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return bufferization::ToTensorOp::create(
      builder, RankedTensorType::get(type.getShape(), type.getElementType()),
      buffer, /*restrict=*/true, /*writable=*/true);
}

/// Block `position` of `buffer`.
static Value blockAt(ImplicitLocOpBuilder &builder, Value buffer,
                     Value position, int64_t count) {
  Value offset =
      arith::MulIOp::create(builder, position, indexConstant(builder, count));
  return memref::SubViewOp::create(
      builder, buffer, ArrayRef<OpFoldResult>{offset},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(count)},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
}

static std::pair<int64_t, Type> countAndType(Value flat) {
  auto type = cast<RankedTensorType>(flat.getType());
  return {type.getDimSize(0), type.getElementType()};
}

//===----------------------------------------------------------------------===//
// MPIWorld
//===----------------------------------------------------------------------===//

MPIWorld::MPIWorld(ImplicitLocOpBuilder &builder, const Mesh &mesh) {
  Type i32 = builder.getI32Type();
  comm = mpi::CommWorldOp::create(builder,
                                  mpi::CommType::get(builder.getContext()));
  Value number =
      mpi::CommRankOp::create(builder, TypeRange{i32}, comm).getRank();
  thisRank =
      arith::IndexCastOp::create(builder, builder.getIndexType(), number);
  // Upstream does not lower `mpi.comm_size`, so the ranks find the last one.
  Value last = memref::AllocaOp::create(builder, MemRefType::get({1}, i32));
  Value zero = indexConstant(builder, 0);
  memref::StoreOp::create(builder, number, last, zero);
  mpi::AllReduceOp::create(builder, TypeRange{}, last, last,
                           mpi::MPI_ReductionOpEnum::MPI_MAX, comm);
  int64_t ranks = mesh.numRanks();
  Value isLast = arith::CmpIOp::create(
      builder, arith::CmpIPredicate::eq,
      memref::LoadOp::create(builder, last, zero),
      arith::ConstantIntOp::create(builder, i32, ranks - 1));
  cf::AssertOp::create(builder, isLast,
                       "the program is for " + std::to_string(ranks) +
                           " ranks, expected mpirun to start as many");
}

Value MPIWorld::entry(ImplicitLocOpBuilder &builder,
                      ArrayRef<int64_t> table) const {
  bool isIdentity = llvm::all_of(llvm::enumerate(table), [](auto entry) {
    return static_cast<int64_t>(entry.index()) == entry.value();
  });
  if (isIdentity)
    return thisRank;
  if (llvm::all_equal(table))
    return indexConstant(builder, table.front());
  auto type = RankedTensorType::get({static_cast<int64_t>(table.size())},
                                    builder.getIndexType());
  Value numbers = arith::ConstantOp::create(
      builder, DenseIntElementsAttr::get(type, table));
  return tensor::ExtractOp::create(builder, numbers, thisRank);
}

Value MPIWorld::position(ImplicitLocOpBuilder &builder, AxesAttr axes) const {
  const Mesh &mesh = axes.getMesh().getValue();
  SmallVector<int64_t> positions(mesh.numRanks());
  for (const std::vector<int64_t> &group : mesh.groups(axes.getParts()))
    for (auto [position, rank] : llvm::enumerate(group))
      positions[rank] = position;
  return entry(builder, positions);
}

Value MPIWorld::allReduce(ImplicitLocOpBuilder &builder, Value flat,
                          mpi::MPI_ReductionOpEnum kind) const {
  auto [count, element] = countAndType(flat);
  // The same buffer twice is MPI_IN_PLACE in upstream's lowering.
  Value buffer = allocate(builder, count, element);
  store(builder, flat, buffer);
  mpi::AllReduceOp::create(builder, TypeRange{}, buffer, buffer, kind, comm);
  return load(builder, buffer);
}

//===----------------------------------------------------------------------===//
// MPIGroup
//===----------------------------------------------------------------------===//

MPIGroup::MPIGroup(ImplicitLocOpBuilder &builder, const MPIWorld &world,
                   AxesAttr axes)
    : builder(builder), world(world), size(axes.groupSize()),
      groups(axes.getMesh().getValue().groups(axes.getParts())),
      ownPosition(world.position(builder, axes)) {}

/// The rank at `position` of this rank's group.
Value MPIGroup::member(ImplicitLocOpBuilder &inner, Value position) {
  if (groups.size() == 1 && llvm::is_sorted(groups.front()))
    return position;
  SmallVector<int64_t> members(groups.size() * size * size);
  for (const std::vector<int64_t> &group : groups)
    for (int64_t rank : group)
      llvm::copy(group, members.begin() + rank * size);
  auto type = RankedTensorType::get(
      {static_cast<int64_t>(groups.size()) * size, size}, inner.getIndexType());
  Value table = arith::ConstantOp::create(
      inner, DenseIntElementsAttr::get(type, ArrayRef<int64_t>(members)));
  return tensor::ExtractOp::create(inner, table,
                                   ValueRange{world.rank(), position});
}

/// In round r the ranks at positions p and (r - p) mod n are partners, so every
/// two meet once, and each has one partner at a time. The one at the lower
/// position sends first. So messages that block cannot wait for each other.
void MPIGroup::forEachPartner(
    function_ref<Messages(ImplicitLocOpBuilder &, Value)> messages) {
  Value count = indexConstant(builder, size);
  auto loop = scf::ForOp::create(builder, indexConstant(builder, 0), count,
                                 indexConstant(builder, 1));
  ImplicitLocOpBuilder inner(builder.getLoc(), builder.getContext());
  inner.setInsertionPointToStart(loop.getBody());
  Value partner = arith::RemUIOp::create(
      inner,
      arith::SubIOp::create(
          inner, arith::AddIOp::create(inner, loop.getInductionVar(), count),
          ownPosition),
      count);
  Value isOther = arith::CmpIOp::create(inner, arith::CmpIPredicate::ne,
                                        partner, ownPosition);
  auto ifOther = scf::IfOp::create(inner, isOther, /*withElseRegion=*/false);
  inner.setInsertionPointToStart(ifOther.thenBlock());
  Messages pair = messages(inner, partner);
  Type i32 = inner.getI32Type();
  Value rank = arith::IndexCastOp::create(inner, i32, member(inner, partner));
  // Messages between two ranks arrive in their order, so one tag is enough.
  Value tag = arith::ConstantIntOp::create(inner, i32, 0);
  auto when = [&](Value condition, auto &&create) {
    if (!condition)
      return create();
    auto guard = scf::IfOp::create(inner, condition, false);
    OpBuilder::InsertionGuard restore(inner);
    inner.setInsertionPointToStart(guard.thenBlock());
    create();
  };
  auto send = [&] {
    when(pair.isSent, [&] {
      mpi::SendOp::create(inner, TypeRange{}, pair.sent, tag, rank,
                          world.communicator());
    });
  };
  auto receive = [&] {
    when(pair.isReceived, [&] {
      mpi::RecvOp::create(inner, TypeRange{}, pair.received, tag, rank,
                          world.communicator());
    });
  };
  Value isFirst = arith::CmpIOp::create(inner, arith::CmpIPredicate::ult,
                                        ownPosition, partner);
  auto ifFirst = scf::IfOp::create(inner, isFirst, /*withElseRegion=*/true);
  inner.setInsertionPointToStart(ifFirst.thenBlock());
  send();
  receive();
  inner.setInsertionPointToStart(ifFirst.elseBlock());
  receive();
  send();
}

Value MPIGroup::exchange(Value blocks) {
  auto [total, element] = countAndType(blocks);
  int64_t count = total / size;
  Value sent = allocate(builder, total, element);
  Value received = allocate(builder, total, element);
  store(builder, blocks, sent);
  memref::CopyOp::create(builder, blockAt(builder, sent, ownPosition, count),
                         blockAt(builder, received, ownPosition, count));
  forEachPartner([&](ImplicitLocOpBuilder &inner, Value partner) -> Messages {
    return {blockAt(inner, sent, partner, count),
            blockAt(inner, received, partner, count), Value(), Value()};
  });
  return load(builder, received);
}

Value MPIGroup::gather(Value block) {
  auto [count, element] = countAndType(block);
  Value blocks = allocate(builder, count * size, element);
  Value own = blockAt(builder, blocks, ownPosition, count);
  store(builder, block, own);
  forEachPartner([&, count = count](ImplicitLocOpBuilder &inner,
                                    Value partner) -> Messages {
    return {own, blockAt(inner, blocks, partner, count), Value(), Value()};
  });
  return load(builder, blocks);
}

Value MPIGroup::permute(Value block, ArrayRef<int64_t> sources) {
  auto [count, element] = countAndType(block);
  Value sent = allocate(builder, count, element);
  Value received = allocate(builder, count, element);
  store(builder, block, sent);
  auto type = RankedTensorType::get({size}, builder.getIndexType());
  Value table = arith::ConstantOp::create(
      builder, DenseIntElementsAttr::get(type, sources));
  Value ownSource =
      tensor::ExtractOp::create(builder, table, ValueRange{ownPosition});
  auto isSame = [](ImplicitLocOpBuilder &inner, Value left, Value right) {
    return arith::CmpIOp::create(inner, arith::CmpIPredicate::eq, left, right);
  };
  auto keep = scf::IfOp::create(builder,
                                isSame(builder, ownSource, ownPosition), false);
  {
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPointToStart(keep.thenBlock());
    memref::CopyOp::create(builder, sent, received);
  }
  forEachPartner([&](ImplicitLocOpBuilder &inner, Value partner) -> Messages {
    Value source = tensor::ExtractOp::create(inner, table, ValueRange{partner});
    return {sent, received, isSame(inner, source, ownPosition),
            isSame(inner, ownSource, partner)};
  });
  return load(builder, received);
}
