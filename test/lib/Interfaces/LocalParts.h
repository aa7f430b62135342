//===- LocalParts.h - what ranks hold of a value ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values and what each rank of one axis has of them in plain buffers without
// padding, by torch.chunk. Written anew rather than with tp/Sharding/Layout.h,
// because sharding rules are checked against it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_INTERFACES_LOCALPARTS_H
#define TP_TEST_LIB_INTERFACES_LOCALPARTS_H

#include "tp/Interpreter/TensorData.h"
#include "tp/Sharding/Layout.h"

namespace tp {

/// What a value of this type may be on one axis: replicated, a shard of any
/// dimension of at least two elements, and the kinds of partial values that
/// its numbers have.
llvm::SmallVector<Placement> placementsOf(mlir::RankedTensorType type);

/// The type of what `rank` of `ranks` holds.
mlir::RankedTensorType localType(mlir::RankedTensorType type,
                                 const Placement &placement, int64_t rank,
                                 int64_t ranks);

/// Random numbers: floats are small multiples of 1/4 other than 0, so that sums
/// of products are exact; integers are any of their width.
simulator::TensorData drawNumbers(mlir::RankedTensorType type, uint64_t seed);

/// What every rank holds of `whole`. The parts of a partial value are random;
/// they combine to the whole exactly.
std::vector<simulator::TensorData> partsOf(const simulator::TensorData &whole,
                                           const Placement &placement,
                                           int64_t ranks, uint64_t seed);

/// Whether the ranks' parts together are `whole` under `placement`, but for
/// rounding. Infinities add up to nothing that counts.
bool arePartsOf(llvm::ArrayRef<simulator::TensorData> parts,
                const simulator::TensorData &whole, const Placement &placement);

} // namespace tp

#endif // TP_TEST_LIB_INTERFACES_LOCALPARTS_H
