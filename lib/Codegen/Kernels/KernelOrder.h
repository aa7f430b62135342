//===- KernelOrder.h - the order in which commands run ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_KERNELS_KERNELORDER_H
#define TP_LIB_CODEGEN_KERNELS_KERNELORDER_H

#include "KernelGroups.h"
#include "llvm/ADT/SetVector.h"

namespace tp::target {

/// A group while kernels still grow.
struct KernelNode : KernelGroup {
  llvm::SetVector<unsigned> before, after;
  /// Position of the first member in the block, and of the last one.
  unsigned first = 0, last = 0;
  /// The last position of a member of this node or of one that it waits for,
  /// directly or through others.
  unsigned latest = 0;
  /// Whether it reads an argument that the program updates, and one that it
  /// does not, such as an input.
  bool readsState = false, readsInput = false;
  /// Whether an assertion of it may fail, and whether what it writes is the
  /// next value of an argument.
  bool checks = false, writesUpdates = false;
};

/// The numbers of the nodes in the order in which they run: each behind those
/// that it waits for, and of those that may run next the one that is needed
/// earliest. Fewer than there are where nodes wait for each other in a circle.
llvm::SmallVector<unsigned> orderOf(llvm::ArrayRef<KernelNode> nodes,
                                    const TargetTraits &traits);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_KERNELS_KERNELORDER_H
