//===- RingSource.cpp - chunks of keys that travel ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gathered blocks lie rank by rank. Where a rank's block has several segments
// of the sequence, the whole is put together of slices; where the last block is
// padded, its end is not read.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"
#include "RingAttention.h"
#include "Storage/Calls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/PortAttributes.h"

using namespace mlir;
using namespace tp::target;

static tp::AllGatherOp ringGather(Value value) {
  auto gather = value.getDefiningOp<tp::AllGatherOp>();
  return gather && gather->hasAttr(tp::attr::ring) ? gather : tp::AllGatherOp();
}

namespace {
/// A slice of what is gathered.
struct GatheredPart {
  tp::AllGatherOp gather;
  int64_t offset, size;
};
} // namespace

/// None if `value` is cut along another dimension too.
static std::optional<GatheredPart> gatheredPart(Value value) {
  if (tp::AllGatherOp gather = ringGather(value))
    return GatheredPart{gather, 0,
                        gather.getType().getDimSize(gather.getDim())};
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  tp::AllGatherOp gather =
      slice ? ringGather(slice.getSource()) : tp::AllGatherOp();
  if (!gather || slice.getType().getRank() != gather.getType().getRank() ||
      ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
      !llvm::all_of(slice.getStaticStrides(),
                    [](int64_t stride) { return stride == 1; }))
    return std::nullopt;
  int64_t dim = gather.getDim();
  for (auto [d, size] : llvm::enumerate(slice.getType().getShape()))
    if (int64_t(d) != dim && size != gather.getType().getDimSize(d))
      return std::nullopt;
  return GatheredPart{gather, slice.getStaticOffsets()[dim],
                      slice.getType().getDimSize(dim)};
}

/// The parts that `value` has along the gathered dimension, in order.
static SmallVector<GatheredPart> gatheredParts(Value value) {
  SmallVector<GatheredPart> parts;
  auto concat = value.getDefiningOp<tensor::ConcatOp>();
  if (!concat) {
    if (auto part = gatheredPart(value))
      parts.push_back(*part);
    return parts;
  }
  for (Value piece : concat.getInputs()) {
    auto part = gatheredPart(piece);
    if (!part || part->gather.getDim() != concat.getDim() ||
        (!parts.empty() && parts.front().gather != part->gather))
      return {};
    parts.push_back(*part);
  }
  return parts;
}

bool tp::target::settle(SmallVectorImpl<ChunkRun> &runs) {
  llvm::sort(runs, [](const ChunkRun &a, const ChunkRun &b) {
    return a.local < b.local;
  });
  SmallVector<ChunkRun> settled;
  int64_t local = 0, global = -1;
  for (const ChunkRun &run : runs) {
    if (run.local != local || run.global <= global)
      return false;
    local += run.size;
    global = run.global + run.size - 1;
    if (!settled.empty() &&
        settled.back().global + settled.back().size == run.global)
      settled.back().size += run.size;
    else
      settled.push_back(run);
  }
  runs.assign(settled.begin(), settled.end());
  return true;
}

std::optional<RingSource> tp::target::ringSourceOf(const ElementPlace &place,
                                                   AttentionForm &form) {
  RingSource source;
  SmallVector<GatheredPart> parts;
  const Element *element = form.graph.element(place.tensor, place.indices);
  while (element && parts.empty()) {
    for (const ElementPlace &candidate : form.graph.placesOf(element)) {
      parts = gatheredParts(candidate.tensor);
      source.indices = candidate.indices;
      if (!parts.empty())
        break;
    }
    element =
        computes<arith::ExtFOp>(element) ? element->operands.front() : nullptr;
  }
  if (parts.empty())
    return std::nullopt;
  source.gather = parts.front().gather;
  int64_t dim = source.gather.getDim(), keys = form.extent(form.key);
  if (source.indices[dim] !=
      getAffineDimExpr(form.key, source.gather.getContext()))
    return std::nullopt;
  int64_t ranks = source.gather.getAxes().groupSize();
  source.chunk = source.gather.getType().getDimSize(dim) / ranks;
  source.runs.resize(ranks);
  int64_t global = 0;
  for (const GatheredPart &part : parts) {
    // What is behind the keys is not read.
    int64_t end = part.offset + std::min(part.size, keys - global);
    for (int64_t at = part.offset; at < end;) {
      int64_t local = at % source.chunk;
      int64_t size = std::min(end - at, source.chunk - local);
      source.runs[at / source.chunk].push_back({local, global, size});
      at += size;
      global += size;
    }
  }
  for (SmallVectorImpl<ChunkRun> &runs : source.runs)
    if (!settle(runs))
      return std::nullopt;
  return global == keys ? std::optional(source) : std::nullopt;
}

LogicalResult tp::target::verifyRings(func::FuncOp function,
                                      const TargetTraits &traits) {
  for (auto gather : function.front().getOps<tp::AllGatherOp>()) {
    if (!ringGather(gather) || gather->use_empty())
      continue;
    InFlightDiagnostic error =
        hasChunks(traits)
            ? gather.emitError(
                  "expected keys or values that only one attention reads, "
                  "which is a softmax of products of queries and keys, times "
                  "values: others cannot travel from rank to rank ('rotate' = "
                  "\"ring\"); write \"gather\"")
            : gather.emitError("keys and values that travel from rank to rank "
                               "('rotate' = \"ring\") are not handled by ")
                  << traits.name << "; write \"gather\"";
    if (auto reason = gather->getAttrOfType<StringAttr>(tp::attr::reason))
      error.attachNote() << "they are " << reason.getValue();
    return error;
  }
  return success();
}
