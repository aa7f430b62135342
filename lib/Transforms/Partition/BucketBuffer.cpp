//===- BucketBuffer.cpp - several collectives' data in one buffer ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketBuffer.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/CauseAttributes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The same elements in the same order.
static Value reshape(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<int64_t> shape) {
  auto allOf = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank > 0)
      groups.emplace_back(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
    return groups;
  };
  RankedTensorType type = typeOf(value);
  if (type.getShape() == shape)
    return value;
  auto flat =
      RankedTensorType::get(type.getNumElements(), type.getElementType());
  auto result = RankedTensorType::get(shape, type.getElementType());
  if (type.getRank() == 0)
    value = tensor::ExpandShapeOp::create(builder, loc, flat, value, allOf(0));
  else if (type.getRank() > 1)
    value = tensor::CollapseShapeOp::create(builder, loc, flat, value,
                                            allOf(type.getRank()));
  if (result.getRank() == 0)
    return tensor::CollapseShapeOp::create(builder, loc, result, value,
                                           allOf(0));
  if (result.getRank() > 1)
    return tensor::ExpandShapeOp::create(builder, loc, result, value,
                                         allOf(result.getRank()));
  return value;
}

/// `a x b x c` becomes `b x a x c`.
static Value swapMajor(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType type = typeOf(value);
  ArrayRef<int64_t> shape = type.getShape();
  Value empty = tensor::EmptyOp::create(
      builder, loc, ArrayRef<int64_t>{shape[1], shape[0], shape[2]},
      type.getElementType());
  return linalg::TransposeOp::create(builder, loc, value, empty,
                                     ArrayRef<int64_t>{1, 0, 2})
      .getResult()
      .front();
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// The `count` blocks along `dim`, a row each.
static Value blocksToRows(OpBuilder &builder, Location loc, Value value,
                          int64_t dim, int64_t count) {
  RankedTensorType type = typeOf(value);
  int64_t outer = product(type.getShape().take_front(dim));
  int64_t row = type.getNumElements() / count;
  if (outer > 1)
    value =
        swapMajor(builder, loc,
                  reshape(builder, loc, value, {outer, count, row / outer}));
  return reshape(builder, loc, value, {count, row});
}

/// A tensor of `shape` whose blocks along `dim` are the rows of `value`.
static Value blocksFromRows(OpBuilder &builder, Location loc, Value value,
                            int64_t dim, ArrayRef<int64_t> shape) {
  int64_t outer = product(shape.take_front(dim));
  ArrayRef<int64_t> rows = typeOf(value).getShape();
  if (outer > 1)
    value = swapMajor(
        builder, loc,
        reshape(builder, loc, value, {rows[0], outer, rows[1] / outer}));
  return reshape(builder, loc, value, shape);
}

/// What a rank sends, a row per member of the group that gets another part.
static Value sentRows(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  Value source = op->getOperand(0);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ReduceScatterOp scatter) {
        return blocksToRows(builder, loc, source, scatter.getDim(),
                            scatter.getAxes().groupSize());
      })
      .Case([&](AllToAllOp exchange) {
        return blocksToRows(builder, loc, source, exchange.getSplitDim(),
                            exchange.getAxes().groupSize());
      })
      .Default([&](Operation *) {
        return reshape(builder, loc, source,
                       {1, typeOf(source).getNumElements()});
      });
}

/// The result of `op`, made of the rows it received.
static Value resultOfRows(OpBuilder &builder, Operation *op, Value rows) {
  Location loc = op->getLoc();
  ArrayRef<int64_t> shape = typeOf(op->getResult(0)).getShape();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](AllGatherOp gather) {
        return blocksFromRows(builder, loc, rows, gather.getDim(), shape);
      })
      .Case([&](AllToAllOp exchange) {
        return blocksFromRows(builder, loc, rows, exchange.getConcatDim(),
                              shape);
      })
      .Default([&](Operation *) { return reshape(builder, loc, rows, shape); });
}

/// The collective on rows: a copy of `like` on other shapes, which cuts and
/// joins the first dimensions.
static Operation *createOnRows(OpBuilder &builder, Operation *like,
                               Value rows) {
  Location loc = like->getLoc();
  SmallVector<int64_t> shape(typeOf(rows).getShape());
  Operation *op = like->clone();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](AllGatherOp gather) {
        gather.setDim(0);
        shape[0] = gather.getAxes().groupSize();
      })
      .Case([&](ReduceScatterOp scatter) {
        scatter.setDim(0);
        shape[0] = 1;
      })
      .Case([&](AllToAllOp exchange) {
        // It cuts one dimension and joins another.
        rows = reshape(builder, loc, rows, {shape[0], 1, shape[1]});
        exchange.setSplitDim(0);
        exchange.setConcatDim(1);
        shape = {1, shape[0], shape[1]};
      });
  op->setOperand(0, rows);
  op->getResult(0).setType(
      RankedTensorType::get(shape, typeOf(rows).getElementType()));
  op->removeAttr(attr::values);
  builder.insert(op);
  return op;
}

/// All uses and all changes that members are made for; nothing if none says.
static DictionaryAttr causesOf(ArrayRef<Operation *> members) {
  llvm::MapVector<StringAttr, llvm::SetVector<Attribute>> lists;
  for (Operation *member : members)
    if (auto cause = member->getAttrOfType<DictionaryAttr>(attr::cause))
      for (NamedAttribute list : cause)
        lists[list.getName()].insert_range(cast<ArrayAttr>(list.getValue()));
  if (lists.empty())
    return {};
  MLIRContext *context = members.front()->getContext();
  NamedAttrList causes;
  for (auto &[name, entries] : lists)
    causes.set(name, ArrayAttr::get(context, entries.getArrayRef()));
  return causes.getDictionary(context);
}

/// Puts together what the members say of themselves.
static void describe(Operation *bucket, ArrayRef<Operation *> members) {
  MLIRContext *context = bucket->getContext();
  SmallVector<Location> locations;
  llvm::SetVector<StringRef> reasons;
  int64_t elements = 0;
  bool hasPadding = false;
  for (Operation *member : members) {
    locations.push_back(member->getLoc());
    if (auto reason = member->getAttrOfType<StringAttr>(attr::reason))
      reasons.insert(reason.getValue());
    auto payload = member->getAttrOfType<IntegerAttr>(attr::payload);
    hasPadding |= payload != nullptr;
    elements += payload
                    ? payload.getInt()
                    : std::max(typeOf(member->getOperand(0)).getNumElements(),
                               typeOf(member->getResult(0)).getNumElements());
  }
  bucket->setLoc(FusedLoc::get(context, locations));
  if (!reasons.empty())
    bucket->setAttr(attr::reason,
                    StringAttr::get(context, llvm::join(reasons, "; ")));
  if (DictionaryAttr causes = causesOf(members))
    bucket->setAttr(attr::cause, causes);
  if (hasPadding)
    bucket->setAttr(attr::payload,
                    IntegerAttr::get(IntegerType::get(context, 64), elements));
}

SmallVector<Value> tp::createBucket(OpBuilder &builder,
                                    ArrayRef<Operation *> members) {
  SmallVector<Value> sent;
  for (Operation *member : members)
    sent.push_back(sentRows(builder, member));
  Value rows = tensor::ConcatOp::create(builder, members.front()->getLoc(),
                                        /*dim=*/1, sent);
  Operation *bucket = createOnRows(builder, members.front(), rows);
  describe(bucket, members);
  rows.getDefiningOp()->setLoc(bucket->getLoc());

  Value received = bucket->getResult(0);
  ArrayRef<int64_t> shape = typeOf(received).getShape();
  received = reshape(builder, bucket->getLoc(), received,
                     {product(shape.drop_back()), shape.back()});
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  OpFoldResult height = builder.getIndexAttr(typeOf(received).getDimSize(0));
  SmallVector<Value> results;
  int64_t offset = 0;
  for (auto [member, row] : llvm::zip_equal(members, sent)) {
    int64_t length = typeOf(row).getDimSize(1);
    Value part = tensor::ExtractSliceOp::create(
        builder, member->getLoc(), received,
        ArrayRef<OpFoldResult>{zero, builder.getIndexAttr(offset)},
        ArrayRef<OpFoldResult>{height, builder.getIndexAttr(length)},
        ArrayRef<OpFoldResult>{one, one});
    offset += length;
    results.push_back(resultOfRows(builder, member, part));
    if (Attribute names = member->getAttr(attr::values))
      results.back().getDefiningOp()->setAttr(attr::values, names);
  }
  return results;
}
