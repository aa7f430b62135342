//===- MemoryChoices.h - ways to hold less -----------------------*- C++
//-*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank holds less where values are sharded that the cheapest layouts
// replicate, and where the backward pass of modules computes again, or gathers
// again, what it reads of their forward pass. The first sends more, the second
// takes more time. Each way is tried: what a rank then holds is looked up in
// the memory plan of its program, which is exact.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_MEMORY_MEMORYCHOICES_H
#define TP_LIB_PIPELINES_MEMORY_MEMORYCHOICES_H

#include "Memory/RecomputeCandidates.h"
#include "TrialPartition.h"
#include "llvm/Support/JSON.h"

namespace tp {

/// One way, and what comes of it.
struct MemoryChoice {
  /// What a byte costs that is held (tp-propagate); 0 for the layouts that send
  /// the fewest bytes.
  double bytePrice = 0;
  /// What the backward pass computes again beside what the plan says.
  ModulePatterns recompute;
  int64_t heldBytes = 0, ringBytes = 0, picoseconds = 0;
};

class MemoryChoices {
public:
  /// `model`: before tp-legalize, with the plan of `options`.
  MemoryChoices(mlir::ModuleOp model, const PartitionOptions &options);

  /// Tries ways until nothing is left to try; with a limit nothing but the
  /// cheapest layouts where these keep it.
  void search(std::optional<int64_t> limit);
  /// The way that takes the least time of those that hold at most `limit`
  /// bytes; where there is none, the one that holds the fewest. Null if the
  /// program did not compile in any way.
  const MemoryChoice *best(int64_t limit) const;
  /// Says at `loc` what `chosen` does for the limit and what that costs:
  /// layouts that hold less, and modules that are computed again.
  void remark(const MemoryChoice &chosen, int64_t limit,
              mlir::Location loc) const;
  /// The ways of which no other holds less and takes no more time, and the one
  /// that `chosen` has, those that hold most first.
  std::vector<MemoryChoice> front(const PartitionOptions &chosen) const;

private:
  const MemoryChoice *attempt(double bytePrice, const ModulePatterns &modules);
  void searchModules();
  void searchPrices(int64_t limit, const ModulePatterns &modules);

  mlir::ModuleOp model;
  PartitionOptions options;
  /// Partitions that may still look for modules; those that look for a price
  /// have a bound of their own.
  unsigned left;
  std::vector<MemoryChoice> tried;
};

/// Chooses what a rank holds under a limit, in `options`; a remark at `loc`
/// says what it computes again for it. With `explains` returns the front, a row
/// each: `held_bytes`, `ring_bytes`, `time_us`, `computed_again`, `layouts` and
/// for the one that is compiled `chosen`.
llvm::json::Array chooseMemory(mlir::ModuleOp model, PartitionOptions &options,
                               std::optional<int64_t> limit, bool explains,
                               mlir::Location loc);
/// The rows of a front as a table.
void writeFront(const llvm::json::Array &front, llvm::raw_ostream &os);

} // namespace tp

#endif // TP_LIB_PIPELINES_MEMORY_MEMORYCHOICES_H
