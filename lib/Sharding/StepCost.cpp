//===- StepCost.cpp - what one step of a layout change costs --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/StepCost.h"
#include "llvm/ADT/STLExtras.h"

using namespace tp;

/// A collective takes time even for nothing: a few bytes are not worth one
/// more.
static constexpr int64_t bytesPerCollective = 1024;

/// What no more bytes than these take is mostly latency, which an all_reduce
/// has once: the activations of a decode step, but not those of a prompt.
static constexpr int64_t mostLatencyBytes = 16 * 1024;

Cost StepCosts::localCopy(double bytes) const {
  return {0, objective == Objective::Communication
                 ? computeTime(0, 2 * bytes, machine)
                 : saturatingRound(bytes)};
}

Cost StepCosts::collective(CollectiveKind kind, int64_t payload,
                           int64_t ranks) const {
  int64_t bytes = ringBytes(kind, payload, ranks);
  if (objective == Objective::Communication) {
    bool isTwo = countsHalves && kind == CollectiveKind::AllReduce &&
                 payload > mostLatencyBytes;
    return {saturatingAdd(bytes, (isTwo ? 2 : 1) * bytesPerCollective), 0};
  }
  return {collectiveTime(bytes, machine), bytes};
}

std::optional<CollectiveKind> tp::collectiveOf(StepKind kind) {
  switch (kind) {
  case StepKind::Reinterpret:
  case StepKind::LocalSlice:
  case StepKind::LocalPartial:
    return std::nullopt;
  case StepKind::AllReduce:
    return CollectiveKind::AllReduce;
  case StepKind::ReduceScatter:
    return CollectiveKind::ReduceScatter;
  case StepKind::AllGather:
    return CollectiveKind::AllGather;
  case StepKind::AllToAll:
    return CollectiveKind::AllToAll;
  case StepKind::Permute:
    return CollectiveKind::Permute;
  }
  return std::nullopt;
}

int64_t tp::elementsMoved(StepKind kind, ReductionKind reduction, int64_t dim,
                          llvm::ArrayRef<int64_t> source,
                          llvm::ArrayRef<int64_t> result, int64_t ranks) {
  // The sizes of a block and how many of them there are.
  llvm::ArrayRef<int64_t> block = source;
  int64_t blocks = 1;
  switch (kind) {
  case StepKind::Reinterpret:
    return 0;
  case StepKind::LocalPartial:
    if (combinesCopies(reduction))
      return 0;
    break;
  case StepKind::AllReduce:
  case StepKind::Permute:
    break;
  case StepKind::LocalSlice:
    block = result;
    break;
  case StepKind::ReduceScatter:
    block = result;
    blocks = ranks;
    break;
  case StepKind::AllGather:
  case StepKind::AllToAll:
    blocks = ranks;
    break;
  }
  int64_t elements = blocks;
  for (auto [at, size] : llvm::enumerate(block))
    elements *= kind == StepKind::AllToAll && static_cast<int64_t>(at) == dim
                    ? result[at]
                    : size;
  return elements;
}

Cost tp::stepCost(StepKind kind, int64_t elements, int64_t elementBytes,
                  int64_t ranks, const StepCosts &costs) {
  int64_t bytes = saturatingRound(static_cast<double>(elements) *
                                  static_cast<double>(elementBytes));
  if (std::optional<CollectiveKind> collective = collectiveOf(kind))
    return costs.collective(*collective, bytes, ranks);
  return costs.localCopy(static_cast<double>(bytes));
}

Cost tp::pathCost(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                  const Layout &from, llvm::ArrayRef<LayoutStep> steps,
                  const StepCosts &costs) {
  Cost sum;
  std::vector<int64_t> source = from.localShape(shape);
  for (const LayoutStep &step : steps) {
    std::vector<int64_t> result = step.result.localShape(shape);
    int64_t ranks = 1;
    for (AxisPart part : step.parts)
      ranks *= part.size;
    sum += stepCost(step.kind,
                    elementsMoved(step.kind, step.reduction, step.dim, source,
                                  result, ranks),
                    elementBytes, ranks, costs);
    source = std::move(result);
  }
  return sum;
}
