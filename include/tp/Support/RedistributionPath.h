//===- RedistributionPath.h - from one layout to another --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A way of steps from any layout of a tensor to any other on the same mesh.
// Every step is legal by `layoutAfter` for the layout that the one before it
// leaves, so that whoever finds ways only has to return steps.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_REDISTRIBUTIONPATH_H
#define TP_SUPPORT_REDISTRIBUTIONPATH_H

#include "tp/Support/LayoutChange.h"

namespace tp {

/// The steps from `from` to `to`, both well formed for a tensor of `shape` on
/// `mesh`; none if they are equal. In a fixed order:
///
/// 1. what is replicated and stands next on a dimension of the target is cut;
/// 2. partial values that shard next are scattered while they are reduced, and
///    shards that the target has elsewhere move there directly;
/// 3. other partial values are reduced, buffers change places where that is all
///    there is to do, or shards in the way of the target's are gathered,
///    minor-most first; then 1 and 2 are tried again;
/// 4. what is missing is made partial.
///
/// Steps of one kind that follow each other on one dimension are one step over
/// the combined group.
std::vector<LayoutStep> redistributionPath(const Mesh &mesh,
                                           llvm::ArrayRef<int64_t> shape,
                                           const Layout &from,
                                           const Layout &to);

} // namespace tp

#endif // TP_SUPPORT_REDISTRIBUTIONPATH_H
