//===- PacketEmitter.cpp - neighbouring elements in one thread ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PacketEmitter.h"
#include "CUDA/Mapping/Access.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

AffineExpr PacketEmitter::addDim(Value value, IndexRange range) {
  dims.push_back(value);
  space.dims.push_back(range);
  return getAffineDimExpr(dims.size() - 1, builder.getContext());
}

std::pair<int64_t, AffineExpr>
PacketEmitter::widthOf(AffineExpr address, int64_t elementBytes) const {
  std::pair<int64_t, AffineExpr> single{1, address};
  if (vector == 1)
    return single;
  auto form = linearForm(address, dims.size(), symbols.size());
  if (!form || form->dimStrides[dim] != vector)
    return single;
  int64_t width = std::min(vector, accessBytes / elementBytes);
  auto divides = [&](int64_t stride) { return stride % width == 0; };
  while (width > 1 && !(divides(form->constant - lane) &&
                        llvm::all_of(form->dimStrides, divides) &&
                        llvm::all_of(form->symbolStrides, divides)))
    width /= 2;
  if (width == 1)
    return single;
  return {width, simplify(address - lane % width, space)};
}

Value PacketEmitter::load(Value value, const Indices &index) {
  if (written.contains(value))
    readsWritten = true;
  Type elementType = cast<RankedTensorType>(value.getType()).getElementType();
  auto at = places.find(value);
  if (at == places.end()) {
    missing.insert(value);
    return zero(elementType);
  }
  int64_t bytes = elementBytes(elementType);
  AffineExpr address = applyMap(at->second.address, index, {}, space).front();
  if (held)
    if (Value element = held(value, address))
      return fromMemory(element, elementType);
  auto [width, base] = widthOf(address, bytes);
  Value &loaded =
      loads[{value.getAsOpaquePointer(), base.getAsOpaquePointer()}];
  if (!loaded)
    loaded = loadNeighbours(value, base, width);
  Value element = loaded;
  if (width > 1)
    element = LLVM::ExtractElementOp::create(
        builder, loc, loaded,
        LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                 lane % width));
  return fromMemory(element, elementType);
}

Value PacketEmitter::loadNeighbours(Value value, AffineExpr address,
                                    int64_t width) {
  Type elementType = cast<RankedTensorType>(value.getType()).getElementType();
  Type type = memoryType(elementType);
  Type whole = width == 1 ? type : VectorType::get({width}, type);
  Value pointer = elementPointer(places.find(value)->second.pointer, type,
                                 emitIndex(simplify(address, space)));
  return LLVM::LoadOp::create(builder, loc, whole, pointer,
                              width * elementBytes(elementType));
}

void PacketEmitter::store(Value scalar, Value target, const Indices &index) {
  auto at = places.find(target);
  if (at == places.end())
    return;
  Type elementType = cast<RankedTensorType>(target.getType()).getElementType();
  AffineExpr address = applyMap(at->second.address, index, {}, space).front();
  auto [width, base] = widthOf(address, elementBytes(elementType));
  pending.push_back({target, base, width == 1 ? 0 : lane % width, width,
                     toMemory(scalar, elementType)});
}

void PacketEmitter::write(ArrayRef<Pending> stores) {
  for (size_t i = 0; i < stores.size(); ++i) {
    const Pending &first = stores[i];
    Type type = first.scalar.getType();
    int64_t bytes = type.getIntOrFloatBitWidth() / 8;
    const Place &place = places.find(first.target)->second;
    if (first.width > 1 && first.lane != 0)
      continue;
    Value whole = first.scalar;
    if (first.width > 1) {
      whole = LLVM::UndefOp::create(builder, loc,
                                    VectorType::get({first.width}, type));
      for (const Pending &store : stores)
        if (store.target == first.target && store.base == first.base)
          whole = LLVM::InsertElementOp::create(
              builder, loc, whole, store.scalar,
              LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                       store.lane));
    }
    Value pointer = elementPointer(place.pointer, type, emitIndex(first.base));
    LLVM::StoreOp::create(builder, loc, whole, pointer, first.width * bytes);
  }
}

void PacketEmitter::flush(const Stores &stores, Value guard,
                          Value scratchGuard) {
  for (bool isScratch : {false, true}) {
    SmallVector<Pending> chosen;
    for (const Pending &store : stores)
      if ((plan.storage(store.target).space == Space::Scratch) == isScratch)
        chosen.push_back(store);
    if (chosen.empty())
      continue;
    Value condition = isScratch ? scratchGuard : guard;
    OpBuilder::InsertionGuard insertion(builder);
    if (condition) {
      auto branch = scf::IfOp::create(builder, loc, condition,
                                      /*withElseRegion=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    write(chosen);
  }
}
