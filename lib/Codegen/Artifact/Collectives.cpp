//===- Collectives.cpp - collectives in the manifest ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "Program/MemoryOrder.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/Collectives/CollectiveBytes.h"

using namespace mlir;
using namespace tp::target;
namespace rt = tp::runtime;

namespace {
/// What all collectives have in common.
struct CollectiveDescription {
  tp::CollectiveKind kind;
  tp::AxesAttr axes;
  std::optional<tp::ReductionKind> reduction;
  CollectiveBlocks blocks;
};
} // namespace

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// Splits `shape` before `dim`: a count of blocks, and a block.
static CollectiveBlocks splitAt(ArrayRef<int64_t> shape, int64_t dim) {
  return {product(shape.take_front(dim)), product(shape.drop_front(dim))};
}

CollectiveBlocks tp::target::blocksOf(Operation *op) {
  ArrayRef<int64_t> source = shapeOf(op->getOperand(0));
  if (auto gather = dyn_cast<tp::AllGatherOp>(op))
    return splitAt(source, gather.getDim());
  if (auto scatter = dyn_cast<tp::ReduceScatterOp>(op))
    return splitAt(shapeOf(op->getResult(0)), scatter.getDim());
  if (auto exchange = dyn_cast<tp::AllToAllOp>(op)) {
    SmallVector<int64_t> block(source);
    block[exchange.getSplitDim()] /= exchange.getAxes().groupSize();
    return splitAt(block, exchange.getSplitDim());
  }
  return {1, product(source)};
}

static CollectiveDescription describe(Operation *op) {
  tp::Collective collective = *tp::asCollective(op);
  CollectiveDescription description;
  description.kind = collective.kind;
  description.axes = collective.axes;
  description.blocks = blocksOf(op);
  if (auto reduce = dyn_cast<tp::AllReduceOp>(op))
    description.reduction = reduce.getReduction().getValue();
  else if (auto scatter = dyn_cast<tp::ReduceScatterOp>(op))
    description.reduction = scatter.getReduction().getValue();
  return description;
}

static rt::CollectiveKind kindOf(tp::CollectiveKind kind) {
  switch (kind) {
  case tp::CollectiveKind::AllReduce:
    return rt::CollectiveKind::AllReduce;
  case tp::CollectiveKind::AllGather:
    return rt::CollectiveKind::AllGather;
  case tp::CollectiveKind::ReduceScatter:
    return rt::CollectiveKind::ReduceScatter;
  case tp::CollectiveKind::AllToAll:
    return rt::CollectiveKind::AllToAll;
  case tp::CollectiveKind::Permute:
    return rt::CollectiveKind::Permute;
  }
  llvm_unreachable("unknown kind of collective");
}

/// The position of the group over `parts`, which is added if it is new.
static int64_t groupOf(CollectiveTables &tables, const tp::Mesh &mesh,
                       ArrayRef<tp::AxisPart> parts) {
  rt::AxisParts axes;
  for (const tp::AxisPart &part : parts)
    axes.push_back(describePart(mesh, part));
  for (const rt::RankGroup &group : tables.groups)
    if (group.axes == axes)
      return group.id;
  int64_t id = tables.groups.size();
  tables.groups.push_back({id, std::move(axes)});
  return id;
}

/// The runtime moves blocks of row-major buffers.
static LogicalResult checkOrder(tp::CommunicateOp op) {
  auto order = [](Value buffer) {
    return placeMap(cast<MemRefType>(buffer.getType())).getResult(0);
  };
  auto expect = [&](Value buffer, AffineMap expected,
                    StringRef what) -> LogicalResult {
    auto type = cast<MemRefType>(buffer.getType());
    IndexSpace space = IndexSpace::ofExtents(type.getShape());
    int64_t offset;
    SmallVector<int64_t> strides;
    bool isStrided = succeeded(type.getStridesAndOffset(strides, offset));
    AffineExpr place = order(buffer) - (isStrided ? offset : 0);
    auto ordered = [&](AffineExpr expr) {
      return orderedMemRef(
          type.getShape(), type.getElementType(),
          AffineMap::get(type.getRank(), 0, simplify(expr, space)));
    };
    if (ordered(place) == ordered(expected.getResult(0)))
      return success();
    return op.emitOpError("expected the ") << what << " in order, got " << type;
  };
  AffineMap received =
      rowMajor(cast<MemRefType>(op.getDestination().getType()).getShape(),
               op.getContext());
  if (auto exchange = dyn_cast<tp::AllToAllOp>(op.getCollective()))
    received = receivedOrder(exchange);
  AffineMap sent = rowMajor(
      cast<MemRefType>(op.getSource().getType()).getShape(), op.getContext());
  if (failed(expect(op.getSource(), sent, "source")))
    return failure();
  return expect(op.getDestination(), received, "destination");
}

FailureOr<CollectiveTables>
tp::target::describeCollectives(const ManifestSource &program,
                                std::vector<rt::RankGroup> groups) {
  CollectiveTables tables;
  tables.groups = std::move(groups);
  Buffers buffers(program.function, program.constantsAt);
  for (Operation *command : commandsOf(program.function)) {
    auto communicate = dyn_cast<tp::CommunicateOp>(command);
    if (!communicate)
      continue;
    Operation *op = communicate.getCollective();
    if (failed(checkOrder(communicate)))
      return failure();
    CollectiveDescription description = describe(op);
    const tp::Mesh &mesh = description.axes.getMesh().getValue();
    if (mesh != program.mesh)
      return op->emitError("expected a collective on the mesh of the module");
    tp::SourceName name = tp::sourceNameOf(op->getLoc());
    auto reason = op->getAttrOfType<StringAttr>(tp::attr::reason);
    rt::Collective row;
    row.id = tables.collectives.size();
    row.kind = kindOf(description.kind);
    row.group = groupOf(tables, mesh, description.axes.getParts());
    row.dtype = dataTypeOf(
        cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
    if (description.reduction)
      row.reduction = describeReduction(*description.reduction);
    tp::CollectiveBytes bytes = tp::bytesOfCollective(op);
    row.payloadBytes = bytes.payload;
    row.wireBytes = bytes.wire;
    row.ringBytes = bytes.ring;
    row.module = name.module;
    row.location = name.location;
    row.reason = reason ? reason.str() : "";
    rt::CollectiveCommand step;
    step.collective = row.id;
    step.input = bufferRef(buffers, communicate.getSource());
    step.output = bufferRef(buffers, communicate.getDestination());
    step.outer = description.blocks.outer;
    step.block = description.blocks.block;
    if (auto permute = dyn_cast<tp::PermuteOp>(op))
      step.sources = ArrayRef<int64_t>(permute.getSources()).vec();
    tables.causes.push_back(op->getAttr(tp::attr::cause));
    tables.collectives.push_back(std::move(row));
    tables.commands.insert({communicate, std::move(step)});
  }
  return tables;
}
