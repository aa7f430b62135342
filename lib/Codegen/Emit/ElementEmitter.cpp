//===- ElementEmitter.cpp - code for one element --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementEmitter.h"
#include "Floats/Float8Casts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/IR/AffineRange.h"

using namespace mlir;
using namespace tp::target;

Type tp::target::memoryType(Type elementType) {
  if (elementType.isInteger(1))
    return IntegerType::get(elementType.getContext(), 8);
  if (elementType.isIndex())
    return IntegerType::get(elementType.getContext(), 64);
  if (isFloat8(elementType))
    return IntegerType::get(elementType.getContext(), 8);
  return elementType;
}

ElementEmitter::Key ElementEmitter::keyOf(const void *of,
                                          ArrayRef<AffineExpr> index) {
  Key key{of, {}};
  for (AffineExpr expr : index)
    key.second.push_back(expr.getAsOpaquePointer());
  return key;
}

Value ElementEmitter::constant(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

Value ElementEmitter::zero(Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

Value ElementEmitter::emitIndex(AffineExpr expr) {
  return tp::emitAffine(
      builder, loc, builder.getI64Type(), expr,
      [&](AffineExpr leaf) {
        IndexRange range = rangeOf(leaf, space);
        return tp::AffineBounds{range.lo, range.hi};
      },
      [&](AffineExpr leaf) {
        auto dim = dyn_cast<AffineDimExpr>(leaf);
        return dim ? dims[dim.getPosition()]
                   : symbols[cast<AffineSymbolExpr>(leaf).getPosition()];
      });
}

Value ElementEmitter::elementPointer(Value pointer, Type type, Value offset) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), type, pointer,
                             ArrayRef<LLVM::GEPArg>{offset},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value ElementEmitter::fromMemory(Value loaded, Type elementType) {
  if (elementType.isInteger(1))
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, loaded,
                                 zero(loaded.getType()));
  if (elementType.isIndex())
    return arith::IndexCastOp::create(builder, loc, elementType, loaded);
  if (isFloat8(elementType))
    return arith::BitcastOp::create(builder, loc, elementType, loaded);
  return loaded;
}

Value ElementEmitter::toMemory(Value scalar, Type elementType) {
  Type type = memoryType(elementType);
  if (elementType.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, type, scalar);
  if (elementType.isIndex())
    return arith::IndexCastOp::create(builder, loc, type, scalar);
  if (isFloat8(elementType))
    return arith::BitcastOp::create(builder, loc, type, scalar);
  return scalar;
}

Value ElementEmitter::load(Value value, const Indices &index) {
  Type elementType = cast<RankedTensorType>(value.getType()).getElementType();
  Type type = memoryType(elementType);
  const Place &place = places.find(value)->second;
  AffineExpr address = applyMap(place.address, index, {}, space).front();
  Value pointer = elementPointer(place.pointer, type, emitIndex(address));
  return fromMemory(LLVM::LoadOp::create(builder, loc, type, pointer),
                    elementType);
}

void ElementEmitter::store(Value scalar, Value target, const Indices &index) {
  Type elementType = cast<RankedTensorType>(target.getType()).getElementType();
  const Place &place = places.find(target)->second;
  AffineExpr address = applyMap(place.address, index, {}, space).front();
  Value pointer = elementPointer(place.pointer, memoryType(elementType),
                                 emitIndex(address));
  LLVM::StoreOp::create(builder, loc, toMemory(scalar, elementType), pointer);
}

ElementEmitter::Known ElementEmitter::known() const {
  return {elements, bodies, dataSymbols, shared};
}

void ElementEmitter::restore(Known known) {
  elements = std::move(known.elements);
  bodies = std::move(known.bodies);
  dataSymbols = std::move(known.dataSymbols);
  shared = std::move(known.shared);
}

/// An op emitted before that computes the same, or `op`.
Operation *ElementEmitter::share(Operation *op) {
  if (!sharesOps || !isMemoryEffectFree(op))
    return op;
  uint64_t hash = OperationEquivalence::computeHash(
      op, OperationEquivalence::directHashValue,
      OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations);
  SmallVector<Operation *, 1> &same = shared[hash];
  for (Operation *other : same)
    if (OperationEquivalence::isEquivalentTo(
            op, other, OperationEquivalence::exactValueMatch,
            /*markEquivalent=*/nullptr,
            OperationEquivalence::IgnoreLocations)) {
      op->erase();
      return other;
    }
  same.push_back(op);
  return op;
}

void ElementEmitter::forward(Value value, const Indices &index, Value scalar) {
  elements[keyOf(value.getAsOpaquePointer(), index)] = scalar;
}

//===----------------------------------------------------------------------===//
// Function-level scalars
//===----------------------------------------------------------------------===//

/// This rank's position along the axis parts, the first being the major one.
Value ElementEmitter::axisIndex(tp::AxisIndexOp op) {
  const tp::Mesh &mesh = op.getAxes().getMesh().getValue();
  Value index = constant(0);
  for (tp::AxisPart part : op.getAxes().getParts()) {
    Value pointer =
        elementPointer(context, builder.getI64Type(), constant(part.axis));
    Value coordinate =
        LLVM::LoadOp::create(builder, loc, builder.getI64Type(), pointer);
    int64_t minor = mesh.axes[part.axis].size / (part.major * part.size);
    coordinate =
        arith::DivUIOp::create(builder, loc, coordinate, constant(minor));
    coordinate =
        arith::RemUIOp::create(builder, loc, coordinate, constant(part.size));
    index = arith::MulIOp::create(builder, loc, index, constant(part.size));
    index = arith::AddIOp::create(builder, loc, index, coordinate);
  }
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    index);
}

Value ElementEmitter::scalar(Value value) {
  if (Value known = scalars.lookup(value))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entryEnd);
  Operation *op = value.getDefiningOp();
  Value result;
  if (auto axis = dyn_cast<tp::AxisIndexOp>(op)) {
    result = axisIndex(axis);
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Indices index;
    // Elements computed inside loops do not dominate the entry. They stay known
    // inside: what is only passed on is nowhere else.
    Known inner = known();
    restore(Known());
    for (auto [position, size] :
         llvm::zip_equal(extract.getIndices(), shapeOf(extract.getTensor()))) {
      Value at = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                            scalar(position));
      index.push_back(addSymbol(clamp(at, 0, size - 1), {0, size - 1}));
    }
    result = element(extract.getTensor(), index);
    restore(std::move(inner));
  } else {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, scalar(operand));
    result = builder.clone(*op, mapping)
                 ->getResult(cast<OpResult>(value).getResultNumber());
  }
  scalars[value] = result;
  return result;
}

Value ElementEmitter::position(Value value) {
  Value known = scalar(value);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(entryEnd);
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), known);
}

Value ElementEmitter::isWithin(AffineExpr index, Value start, int64_t size) {
  Value place = emitIndex(index);
  Value from = arith::SubIOp::create(builder, loc, place, position(start));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, from,
                               constant(size));
}

AffineExpr ElementEmitter::addSymbol(Value value, IndexRange range) {
  symbols.push_back(value);
  space.symbols.push_back(range);
  return getAffineSymbolExpr(symbols.size() - 1, builder.getContext());
}

Value ElementEmitter::clamp(Value value, int64_t lo, int64_t hi) {
  value = arith::MaxSIOp::create(builder, loc, value, constant(lo));
  return arith::MinSIOp::create(builder, loc, value, constant(hi));
}

AffineExpr ElementEmitter::clampedInto(AffineExpr index, int64_t size) {
  AffineExpr symbol =
      addSymbol(clamp(emitIndex(index), 0, size - 1), {0, size - 1});
  clamped[cast<AffineSymbolExpr>(symbol).getPosition()] = index;
  return symbol;
}

/// The index without clamps, of which an element may be known that this loop
/// computed and has not written yet.
Indices ElementEmitter::beforeClamps(const Indices &index) const {
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < symbols.size(); ++i) {
    AffineExpr expr = clamped.lookup(i);
    // Symbols of the inner one come earlier.
    exprs.push_back(expr ? expr.replaceSymbols(exprs)
                         : getAffineSymbolExpr(i, builder.getContext()));
  }
  Indices result;
  for (AffineExpr expr : index)
    result.push_back(simplify(expr.replaceSymbols(exprs), space));
  return result;
}

SmallVector<AffineExpr>
ElementEmitter::symbolsOf(const ScalarSymbols &scalarSymbols) {
  SmallVector<AffineExpr> exprs;
  for (auto [value, range] :
       llvm::zip_equal(scalarSymbols.values, scalarSymbols.ranges)) {
    AffineExpr known = viewSymbols.lookup({value, range.hi});
    if (known) {
      exprs.push_back(known);
      continue;
    }
    Value at = scalar(value);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(entryEnd);
    at = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), at);
    exprs.push_back(addSymbol(clamp(at, range.lo, range.hi), range));
    viewSymbols[{value, range.hi}] = exprs.back();
  }
  return exprs;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value ElementEmitter::box(const SourceBox &box, const Indices &local) {
  if (!box.source)
    return scalar(box.scalar);
  return element(box.source, applyMap(box.map, local, {}, space));
}

Value ElementEmitter::piecewise(Value value, const PiecewiseSource &sourceBoxes,
                                const Indices &index) {
  SmallVector<AffineExpr> symbolExprs = symbolsOf(sourceBoxes.symbols);
  // From the last piece, which holds all, to the first, which wins.
  SmallVector<std::pair<Value, Value>> chosen;
  for (auto [number, part] : llvm::enumerate(sourceBoxes.boxes)) {
    Indices local;
    Value inside;
    bool outside = false;
    bool last = number + 1 == sourceBoxes.boxes.size();
    for (auto [i, expr] : llvm::enumerate(index)) {
      AffineExpr at =
          simplify(expr - part.offsets[i].replaceSymbols(symbolExprs), space);
      IndexRange range = rangeOf(at, space);
      int64_t size = part.sizes[i];
      if (range.lo >= 0 && range.hi < size) {
        local.push_back(at);
        continue;
      }
      if (range.hi < 0 || range.lo >= size || size == 0) {
        outside = !last;
        if (outside)
          break;
      }
      if (!last) {
        Value below =
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                  emitIndex(at), constant(size));
        inside =
            inside
                ? arith::AndIOp::create(builder, loc, inside, below).getResult()
                : below;
      }
      local.push_back(clampedInto(at, size));
    }
    if (outside)
      continue;
    chosen.push_back({inside, box(part, local)});
    if (!inside)
      break;
  }
  Value result = chosen.back().second;
  for (auto &[inside, element] : llvm::reverse(ArrayRef(chosen).drop_back()))
    result = arith::SelectOp::create(builder, loc, inside, element, result);
  return result;
}

Value ElementEmitter::element(Value value, const Indices &index, bool top) {
  Key key = keyOf(value.getAsOpaquePointer(), index);
  if (auto known = elements.find(key); known != elements.end() && !top)
    return known->second;
  Value result;
  Type elementType = cast<RankedTensorType>(value.getType()).getElementType();
  if (!top && plan.isStored(value)) {
    auto known = clamped.empty()
                     ? elements.end()
                     : elements.find(keyOf(value.getAsOpaquePointer(),
                                           beforeClamps(index)));
    result = known != elements.end() ? known->second : load(value, index);
  } else if (numElements(value) == 0) {
    result = zero(elementType);
  } else if (std::optional<View> view = viewOf(value)) {
    SmallVector<AffineExpr> exprs = symbolsOf(view->symbols);
    return element(view->source, applyMap(view->map, index, exprs, space));
  } else if (std::optional<Splat> splat = splatOf(value)) {
    result = splat->constant
                 ? arith::ConstantOp::create(builder, loc, splat->constant)
                       .getResult()
                 : scalar(splat->scalar);
  } else if (std::optional<PiecewiseSource> sourceBoxes =
                 piecewiseSourceOf(value)) {
    result = piecewise(value, *sourceBoxes, index);
  } else if (auto op = value.getDefiningOp<linalg::LinalgOp>()) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    Indices loops = simplify(*loopsOfElement(op, number, index), space);
    result = body(op, loops, {})[number];
  } else {
    result = zero(elementType);
  }
  elements[key] = result;
  return result;
}
