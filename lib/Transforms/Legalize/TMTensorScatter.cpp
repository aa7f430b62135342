//===- TMTensorScatter.cpp - tm_tensor.scatter as loops -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element of the result asks each slice, in order, whether it writes
// there. Exporters number the elements of what they write one by one: row
// ((b * H + h) * S + s) * D + d goes to place (b, h, position[s], d). Where
// the table of places says so (ElementTrace.h), the rows are loops over b, h, s
// and d, of which those over b, h and d are the ones over the result. What is
// left is one question per s, and b, h and d can be sharded.
//
//===----------------------------------------------------------------------===//

#include "Conditions.h"
#include "ElementTrace.h"
#include "Legalize.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/IRMapping.h"
#include "tp/IR/TMTensor.h"

using namespace mlir;
using namespace tp;
using namespace tp::legalize;

namespace {
class ScatterWriter {
public:
  ScatterWriter(tm_tensor::ScatterOp op, OpBuilder &builder)
      : op(op), builder(builder), loc(op.getLoc()),
        original(op.getOriginal().getType()),
        updates(op.getUpdates().getType()),
        firstSliceDim(original.getRank() - updates.getRank() + 1) {}

  Value write();

private:
  /// The loops over the rows of the table, and what its columns hold.
  void findRows();
  /// Rows whose place along a dimension is their own coordinate are visited by
  /// the result's loop over it.
  void findLoops();
  /// The extent of a slice along a dimension of the original.
  int64_t extentOf(int64_t dim) {
    return dim < firstSliceDim ? 1
                               : updates.getDimSize(dim - firstSliceDim + 1);
  }
  std::optional<unsigned> columnOf(int64_t dim) {
    const auto *found = llvm::find(op.getDimensionMap(), dim);
    if (found == op.getDimensionMap().end())
      return std::nullopt;
    return found - op.getDimensionMap().begin();
  }
  bool isLoopOfResult(int64_t dim) const {
    return llvm::is_contained(loopOfRow, dim);
  }
  /// The slices are read by a map, not element by element.
  bool hasMap();
  AffineMap mapOfUpdates();

  Value number(OpBuilder &nested, int64_t value) {
    return arith::ConstantIndexOp::create(nested, loc, value);
  }
  Value loop(OpBuilder &nested, int64_t dim) {
    return linalg::IndexOp::create(nested, loc, dim);
  }
  Value valueOf(OpBuilder &nested, const LinearForm &form);
  /// Where a slice begins along the dimension of a column.
  Value beginOf(OpBuilder &nested, unsigned column);
  void writeBody(OpBuilder &nested, ValueRange elements);

  tm_tensor::ScatterOp op;
  OpBuilder &builder;
  Location loc;
  RankedTensorType original, updates;
  int64_t firstSliceDim;
  /// Extents of the rows' coordinates, and the loop over each.
  SmallVector<int64_t> rows;
  SmallVector<int64_t> loopOfRow;
  int64_t numLoops = 0;
  SmallVector<TracedElement> columns;
  /// The updates with the rows' coordinates as dimensions.
  Value slices;
};
} // namespace

/// The row's number as a sum over its coordinates.
static LinearForm rowNumber(ArrayRef<int64_t> rows) {
  LinearForm form{SmallVector<int64_t>(rows.size(), 0), 0};
  int64_t stride = 1;
  for (size_t i = rows.size(); i-- > 0; stride *= rows[i])
    form.coefficients[i] = rows[i] == 1 ? 0 : stride;
  return form;
}

void ScatterWriter::findRows() {
  rows = {updates.getDimSize(0)};
  for (bool isSplit = true; isSplit;) {
    isSplit = false;
    columns.clear();
    for (int64_t i = 0, e = op.getDimensionMap().size(); i < e; ++i) {
      LinearForm column{SmallVector<int64_t>(rows.size(), 0), i};
      columns.push_back(
          traceElement(op.getIndices(), {rowNumber(rows), column}, rows));
      std::optional<CoordinateSplit> split = columns.back().split;
      if (!split)
        continue;
      rows.erase(rows.begin() + split->coordinate);
      rows.insert(rows.begin() + split->coordinate, split->extents.begin(),
                  split->extents.end());
      isSplit = true;
      break;
    }
  }
}

void ScatterWriter::findLoops() {
  int64_t rank = original.getRank();
  loopOfRow.assign(rows.size(), -1);
  for (auto [column, dim] : llvm::zip(columns, op.getDimensionMap())) {
    std::optional<unsigned> row =
        column.number ? column.number->asCoordinate() : std::nullopt;
    if (row && loopOfRow[*row] < 0 && extentOf(dim) == 1 &&
        rows[*row] == original.getDimSize(dim))
      loopOfRow[*row] = dim;
  }
  numLoops = rank;
  for (int64_t &loop : loopOfRow)
    if (loop < 0)
      loop = numLoops++;
}

bool ScatterWriter::hasMap() {
  for (int64_t dim = firstSliceDim; dim < original.getRank(); ++dim)
    if (extentOf(dim) != (columnOf(dim) ? 1 : original.getDimSize(dim)))
      return false;
  return true;
}

AffineMap ScatterWriter::mapOfUpdates() {
  SmallVector<AffineExpr> exprs;
  for (int64_t loop : loopOfRow)
    exprs.push_back(builder.getAffineDimExpr(loop));
  for (int64_t dim = firstSliceDim; dim < original.getRank(); ++dim)
    exprs.push_back(columnOf(dim) ? builder.getAffineConstantExpr(0)
                                  : builder.getAffineDimExpr(dim));
  return AffineMap::get(numLoops, 0, exprs, builder.getContext());
}

Value ScatterWriter::valueOf(OpBuilder &nested, const LinearForm &form) {
  Value sum;
  auto add = [&](Value value) {
    sum = sum ? arith::AddIOp::create(nested, loc, sum, value).getResult()
              : value;
  };
  for (auto [row, coefficient] : llvm::enumerate(form.coefficients)) {
    if (coefficient == 0)
      continue;
    Value coordinate = loop(nested, loopOfRow[row]);
    if (coefficient != 1)
      coordinate = arith::MulIOp::create(nested, loc, coordinate,
                                         number(nested, coefficient));
    add(coordinate);
  }
  if (form.constant != 0 || !sum)
    add(number(nested, form.constant));
  return sum;
}

Value ScatterWriter::beginOf(OpBuilder &nested, unsigned column) {
  const TracedElement &element = columns[column];
  int64_t dim = op.getDimensionMap()[column];
  int64_t places = original.getDimSize(dim) - extentOf(dim) + 1;
  Value begin;
  if (element.number) {
    begin = valueOf(nested, *element.number);
    if (element.number->least(rows) >= 0 && element.number->most(rows) < places)
      return begin;
  } else {
    SmallVector<Value> index;
    for (const LinearForm &form : element.index)
      index.push_back(valueOf(nested, form));
    begin = tensor::ExtractOp::create(nested, loc, element.tensor, index);
    if (!begin.getType().isIndex())
      begin =
          arith::IndexCastOp::create(nested, loc, nested.getIndexType(), begin);
  }
  // Below zero is beyond the end of unsigned numbers.
  Value inside = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ult,
                                       begin, number(nested, places));
  cf::AssertOp::create(nested, loc, inside,
                       "tm_tensor.scatter writes outside the tensor");
  return begin;
}

void ScatterWriter::writeBody(OpBuilder &nested, ValueRange elements) {
  // Null: everywhere.
  Value isHere;
  auto require = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    isHere = legalize::andCompare(nested, loc, isHere, predicate, a, b);
  };
  /// Where in its slice the element is.
  SmallVector<Value> within;
  for (int64_t dim = 0; dim < original.getRank(); ++dim) {
    std::optional<unsigned> column = columnOf(dim);
    int64_t extent = extentOf(dim), size = original.getDimSize(dim);
    Value at;
    if (column && extent == 1) {
      if (!isLoopOfResult(dim))
        require(arith::CmpIPredicate::eq, loop(nested, dim),
                beginOf(nested, *column));
    } else {
      if (extent == size && hasMap())
        continue;
      at = loop(nested, dim);
      if (column)
        at = arith::SubIOp::create(nested, loc, at, beginOf(nested, *column));
      // A place outside is read too, before the step fails.
      if (column || extent < size)
        require(arith::CmpIPredicate::ult, at, number(nested, extent));
    }
    if (dim >= firstSliceDim)
      within.push_back(at);
  }
  Value update = elements.front();
  if (!hasMap()) {
    SmallVector<Value> index;
    for (int64_t row : loopOfRow)
      index.push_back(loop(nested, row));
    for (Value at : within) {
      Value first = number(nested, 0);
      if (at && isHere)
        at = arith::SelectOp::create(nested, loc, isHere, at, first);
      index.push_back(at ? at : first);
    }
    update = tensor::ExtractOp::create(nested, loc, slices, index);
  }
  IRMapping mapping;
  mapping.map(op.getRegion().getArguments(),
              ValueRange{update, elements.back()});
  Block &region = op.getRegion().front();
  for (Operation &inner : region.without_terminator())
    nested.clone(inner, mapping);
  Value combined =
      mapping.lookupOrDefault(region.getTerminator()->getOperand(0));
  if (isHere)
    combined =
        arith::SelectOp::create(nested, loc, isHere, combined, elements.back());
  linalg::YieldOp::create(nested, loc, combined);
}

Value ScatterWriter::write() {
  findRows();
  findLoops();
  slices = op.getUpdates();
  if (rows.size() > 1) {
    SmallVector<int64_t> shape(rows);
    llvm::append_range(shape, updates.getShape().drop_front());
    SmallVector<ReassociationIndices> groups(1);
    for (int64_t dim = 0, e = shape.size(); dim < e; ++dim) {
      if (dim >= static_cast<int64_t>(rows.size()))
        groups.emplace_back();
      groups.back().push_back(dim);
    }
    slices = tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(shape, updates.getElementType()),
        slices, groups);
  }
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  if (hasMap()) {
    inputs.push_back(slices);
    maps.push_back(mapOfUpdates());
  } else {
    // Of this only the extents of the loops are read.
    SmallVector<int64_t> extents;
    SmallVector<AffineExpr> exprs;
    for (auto [row, loop] : llvm::zip(rows, loopOfRow)) {
      extents.push_back(row);
      exprs.push_back(builder.getAffineDimExpr(loop));
    }
    inputs.push_back(tensor::EmptyOp::create(builder, loc, extents,
                                             updates.getElementType()));
    maps.push_back(AffineMap::get(numLoops, 0, exprs, builder.getContext()));
  }
  maps.push_back(
      AffineMap::getMultiDimIdentityMap(numLoops, builder.getContext())
          .getMajorSubMap(original.getRank()));
  SmallVector<utils::IteratorType> loops(numLoops,
                                         utils::IteratorType::reduction);
  std::fill_n(loops.begin(), original.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, original, inputs, op.getOriginal(), maps, loops,
             [&](OpBuilder &nested, Location, ValueRange elements) {
               writeBody(nested, elements);
             })
      .getResult(0);
}

void legalize::writeTMTensorScatter(tm_tensor::ScatterOp op,
                                    OpBuilder &builder) {
  Value made = ScatterWriter(op, builder).write();
  op.replaceAllUsesWith(made);
  op.erase();
}
