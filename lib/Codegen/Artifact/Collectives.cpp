//===- Collectives.cpp - collectives in the manifest ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/Sharding/RingCost.h"

using namespace mlir;
using namespace tp::target;
namespace json = llvm::json;

namespace {
/// What all collectives have in common.
struct CollectiveDescription {
  tp::CollectiveKind kind;
  tp::AxesAttr axes;
  std::optional<tp::ReductionKind> reduction;
  int64_t outer = 1, block = 1;
};
} // namespace

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// Splits `shape` before `dim`: a count of blocks, and a block.
static void splitAt(CollectiveDescription &description, ArrayRef<int64_t> shape,
                    int64_t dim) {
  description.outer = product(shape.take_front(dim));
  description.block = product(shape.drop_front(dim));
}

static CollectiveDescription describe(Operation *op) {
  CollectiveDescription description;
  ArrayRef<int64_t> source = shapeOf(op->getOperand(0));
  ArrayRef<int64_t> result = shapeOf(op->getResult(0));
  description.block = product(source);
  if (auto reduce = dyn_cast<tp::AllReduceOp>(op)) {
    description.kind = tp::CollectiveKind::AllReduce;
    description.axes = reduce.getAxes();
    description.reduction = reduce.getReduction().getValue();
  } else if (auto gather = dyn_cast<tp::AllGatherOp>(op)) {
    description.kind = tp::CollectiveKind::AllGather;
    description.axes = gather.getAxes();
    splitAt(description, source, gather.getDim());
  } else if (auto scatter = dyn_cast<tp::ReduceScatterOp>(op)) {
    description.kind = tp::CollectiveKind::ReduceScatter;
    description.axes = scatter.getAxes();
    description.reduction = scatter.getReduction().getValue();
    splitAt(description, result, scatter.getDim());
  } else if (auto exchange = dyn_cast<tp::AllToAllOp>(op)) {
    description.kind = tp::CollectiveKind::AllToAll;
    description.axes = exchange.getAxes();
    SmallVector<int64_t> block(source);
    int64_t n = description.axes.groupSize();
    block[exchange.getSplitDim()] /= n;
    splitAt(description, block, exchange.getSplitDim());
  } else {
    auto permute = cast<tp::PermuteOp>(op);
    description.kind = tp::CollectiveKind::Permute;
    description.axes = permute.getAxes();
  }
  return description;
}

/// The larger side of a collective in bytes.
static int64_t wireBytes(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return std::max(numElements(op->getOperand(0)),
                  numElements(op->getResult(0))) *
         elementBytes(type.getElementType());
}

/// The elements of the larger side that are no padding, on the rank that has
/// most: all, where tp-partition says nothing else.
static int64_t realElements(Operation *op) {
  if (auto elements = op->getAttrOfType<IntegerAttr>(tp::attr::payload))
    return elements.getInt();
  return std::max(numElements(op->getOperand(0)),
                  numElements(op->getResult(0)));
}

static int64_t payloadBytesOf(Operation *op) {
  return realElements(op) *
         elementBytes(cast<RankedTensorType>(op->getResult(0).getType())
                          .getElementType());
}

int64_t tp::target::ringBytesOf(Operation *collective) {
  CollectiveDescription description = describe(collective);
  return tp::ringBytes(description.kind, payloadBytesOf(collective),
                       description.axes.groupSize());
}

static std::string axisName(const tp::Mesh &mesh, tp::AxisPart part) {
  std::string name = mesh.axes[part.axis].name;
  if (!mesh.isWhole(part))
    name += ":" + std::to_string(part.major) + ":" + std::to_string(part.size);
  return name;
}

FailureOr<CollectiveTables>
tp::target::describeCollectives(const ManifestSource &program) {
  CollectiveTables tables;
  SmallVector<std::vector<tp::AxisPart>> groups;
  int64_t id = 0;
  for (const Command &command : program.schedule->commands) {
    Operation *op = command.collective;
    if (!op)
      continue;
    CollectiveDescription description = describe(op);
    const tp::Mesh &mesh = description.axes.getMesh().getValue();
    if (mesh != program.mesh)
      return op->emitError("expected a collective on the mesh of the module");
    std::vector<tp::AxisPart> parts = description.axes.getParts();
    int64_t group = llvm::find(groups, parts) - groups.begin();
    json::Array axes;
    for (tp::AxisPart part : parts)
      axes.push_back(axisName(mesh, part));
    if (group == int64_t(groups.size())) {
      groups.push_back(parts);
      json::Array ranks;
      for (const std::vector<int64_t> &members : mesh.groups(parts)) {
        json::Array list;
        for (int64_t rank : members)
          list.push_back(rank);
        ranks.push_back(std::move(list));
      }
      tables.groups.push_back(json::Object{{"id", group},
                                           {"axes", json::Array(axes)},
                                           {"ranks", std::move(ranks)}});
    }
    Type type =
        cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
    int64_t wire = wireBytes(op);
    int64_t payload = payloadBytesOf(op);
    tp::SourceName name = tp::sourceNameOf(op->getLoc());
    auto reason = op->getAttrOfType<StringAttr>(tp::attr::reason);
    json::Object row{{"id", id},
                     {"kind", tp::toString(description.kind)},
                     {"group", group},
                     {"axes", std::move(axes)},
                     {"dtype", dtypeName(type)},
                     {"order", program.traits.reductionOrder},
                     {"payload_bytes", payload},
                     {"wire_bytes", wire},
                     {"ring_bytes_per_rank", ringBytesOf(op)},
                     {"count", 1},
                     {"module", name.module},
                     {"location", name.location},
                     {"reason", reason ? reason.getValue() : StringRef()}};
    json::Object step{
        {"command", "collective"},
        {"id", id},
        {"input", bufferOf(program.plan->storage(
                      program.plan->storedBehind(op->getOperand(0))))},
        {"output", bufferOf(program.plan->storage(op->getResult(0)))},
        {"outer", description.outer},
        {"block", description.block}};
    if (Attribute cause = op->getAttr(tp::attr::cause))
      row["cause"] = tp::toJSON(cause);
    if (description.reduction)
      row["reduction"] = tp::toString(*description.reduction);
    if (auto permute = dyn_cast<tp::PermuteOp>(op)) {
      json::Array sources;
      for (int64_t source : permute.getSources())
        sources.push_back(source);
      step["sources"] = std::move(sources);
    }
    tables.collectives.push_back(std::move(row));
    tables.commands.insert({op, std::move(step)});
    ++id;
  }
  return tables;
}
