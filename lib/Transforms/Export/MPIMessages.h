//===- MPIMessages.h - messages between the ranks of a group ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one rank's program sends and receives, as ops of upstream's `mpi`.
// Buffers of messages have one dimension: upstream's lowering counts the
// elements of the first one alone.
//
// All messages run over the communicator of all ranks. Upstream has no op that
// frees a communicator, so a program that split one in every step would run
// out of them; and its lowering of `mpi.comm_split` cuts Open MPI's handle to
// 32 bits.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_EXPORT_MPIMESSAGES_H
#define TP_LIB_TRANSFORMS_EXPORT_MPIMESSAGES_H

#include "mlir/Dialect/MPI/IR/MPI.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tp/IR/TP.h"

namespace tp {

/// All ranks of a run, seen from one of them.
class MPIWorld {
public:
  /// Creates the rank query. The program then fails unless it runs on as many
  /// ranks as `mesh` has.
  MPIWorld(mlir::ImplicitLocOpBuilder &builder, const Mesh &mesh);

  /// The number of `table`, which has one for each rank, at this rank.
  mlir::Value entry(mlir::ImplicitLocOpBuilder &builder,
                    llvm::ArrayRef<int64_t> table) const;
  /// This rank's position along `axes`.
  mlir::Value position(mlir::ImplicitLocOpBuilder &builder,
                       AxesAttr axes) const;
  /// Combines `flat`, a tensor of one dimension, over all ranks.
  mlir::Value allReduce(mlir::ImplicitLocOpBuilder &builder, mlir::Value flat,
                        mlir::mpi::MPI_ReductionOpEnum kind) const;

  mlir::Value communicator() const { return comm; }
  mlir::Value rank() const { return thisRank; }

private:
  mlir::Value comm, thisRank;
};

/// The rank group over some axes that this rank is in. Blocks and tensors have
/// one dimension; a tensor of blocks has the block of every member in the order
/// of their positions.
class MPIGroup {
public:
  MPIGroup(mlir::ImplicitLocOpBuilder &builder, const MPIWorld &world,
           AxesAttr axes);

  /// Sends block p of `blocks` to the member at position p; the result has the
  /// blocks received.
  mlir::Value exchange(mlir::Value blocks);
  /// The blocks of all members.
  mlir::Value gather(mlir::Value block);
  /// The block of the member at position `sources[p]`, p being this rank's.
  mlir::Value permute(mlir::Value block, llvm::ArrayRef<int64_t> sources);

private:
  /// The buffers of one exchange with a partner, and whether each message is
  /// sent (null: it is).
  struct Messages {
    mlir::Value sent, received, isSent, isReceived;
  };
  void forEachPartner(
      llvm::function_ref<Messages(mlir::ImplicitLocOpBuilder &, mlir::Value)>
          messages);
  mlir::Value member(mlir::ImplicitLocOpBuilder &builder, mlir::Value position);

  mlir::ImplicitLocOpBuilder &builder;
  const MPIWorld &world;
  int64_t size;
  std::vector<std::vector<int64_t>> groups;
  mlir::Value ownPosition;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_EXPORT_MPIMESSAGES_H
