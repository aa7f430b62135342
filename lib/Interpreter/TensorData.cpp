//===- TensorData.cpp - the numbers of one tensor -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/TensorData.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "tp/IR/ElementBytes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

std::optional<ElementStorage> simulator::storageOf(Type type) {
  if (type.isF32() || type.isF16() || type.isBF16() ||
      isa<Float8E4M3FNType, Float8E5M2Type, Float8E4M3FNUZType,
          Float8E5M2FNUZType>(type))
    return ElementStorage::Float;
  if (type.isF64())
    return ElementStorage::Double;
  if (type.isIndex())
    return ElementStorage::Int;
  if (auto integer = dyn_cast<IntegerType>(type))
    if (integer.getWidth() >= 1 && integer.getWidth() <= 64)
      return ElementStorage::Int;
  return std::nullopt;
}

unsigned simulator::integerWidth(Type type) {
  return type.isIndex() ? 64 : cast<IntegerType>(type).getWidth();
}

double simulator::roundTo(double value, Type type) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  bool lost;
  APFloat number(value);
  number.convert(cast<FloatType>(type).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

int64_t simulator::wrapTo(int64_t value, Type type) {
  unsigned width = integerWidth(type);
  if (width == 1)
    return value & 1;
  unsigned shift = 64 - width;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

std::optional<Scalar> simulator::scalarOf(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return Scalar{number.getValueAsDouble(), 0};
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return Scalar{0,
                  wrapTo(number.getValue().getSExtValue(), number.getType())};
  return std::nullopt;
}

Scalar simulator::poisonOf(Type elementType) {
  Scalar poison{std::numeric_limits<double>::quiet_NaN(), 0};
  if (isa<IntegerType, IndexType>(elementType))
    poison.integer =
        wrapTo(int64_t(1) << (integerWidth(elementType) - 1), elementType);
  return poison;
}

TensorData::TensorData(Type elementType, ArrayRef<int64_t> shape)
    : type(elementType), kind(*storageOf(elementType)), dims(shape) {
  int64_t count = ShapedType::getNumElements(shape);
  buffer = std::make_shared<std::vector<int64_t>>(
      kind == ElementStorage::Float ? (count + 1) / 2 : count);
}

TensorData TensorData::splat(Type elementType, ArrayRef<int64_t> shape,
                             Scalar value) {
  TensorData array(elementType, {});
  array.dims.assign(shape.begin(), shape.end());
  array.isSplatArray = true;
  array.set(0, value);
  return array;
}

TensorData TensorData::poison(Type elementType, ArrayRef<int64_t> shape) {
  TensorData array(elementType, shape);
  Scalar value = poisonOf(elementType);
  int64_t count = array.numElements();
  if (array.kind == ElementStorage::Float)
    std::fill_n(array.floats(), count, static_cast<float>(value.real));
  else if (array.kind == ElementStorage::Double)
    std::fill_n(array.doubles(), count, value.real);
  else
    std::fill_n(array.integers(), count, value.integer);
  return array;
}

int64_t TensorData::numElements() const {
  return ShapedType::getNumElements(dims);
}

SmallVector<int64_t> simulator::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

SmallVector<int64_t> TensorData::strides() const {
  if (isSplatArray)
    return SmallVector<int64_t>(dims.size(), 0);
  return rowMajorStrides(dims);
}

TensorData TensorData::reshaped(ArrayRef<int64_t> shape) const {
  TensorData result = *this;
  result.dims.assign(shape.begin(), shape.end());
  return result;
}

Scalar TensorData::get(int64_t offset) const {
  switch (kind) {
  case ElementStorage::Float:
    return {floats()[offset], 0};
  case ElementStorage::Double:
    return {doubles()[offset], 0};
  case ElementStorage::Int:
    return {0, integers()[offset]};
  }
  llvm_unreachable("unknown storage");
}

void TensorData::set(int64_t offset, Scalar value) {
  switch (kind) {
  case ElementStorage::Float:
    floats()[offset] = static_cast<float>(value.real);
    return;
  case ElementStorage::Double:
    doubles()[offset] = value.real;
    return;
  case ElementStorage::Int:
    integers()[offset] = value.integer;
    return;
  }
}

void TensorData::setAllUndefined() {
  undefined = std::make_shared<std::vector<uint8_t>>(
      isSplatArray ? 1 : numElements(), 1);
}

void TensorData::setUndefined(int64_t offset, bool value) {
  if (!undefined) {
    if (!value)
      return;
    undefined = std::make_shared<std::vector<uint8_t>>(
        isSplatArray ? 1 : numElements(), 0);
  }
  (*undefined)[offset] = value;
}

std::optional<TensorData> TensorData::fromAttribute(ElementsAttr attribute) {
  auto tensor = cast<ShapedType>(attribute.getType());
  Type elementType = tensor.getElementType();
  if (!storageOf(elementType) || !tensor.hasStaticShape())
    return std::nullopt;
  auto convert = [&](auto value) -> Scalar {
    if constexpr (std::is_same_v<decltype(value), APFloat>) {
      bool lost;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
      return {value.convertToDouble(), 0};
    } else {
      return {0, wrapTo(value.getSExtValue(), elementType)};
    }
  };
  auto fill = [&](DenseElementsAttr dense, auto tag) {
    using Number = decltype(tag);
    if (dense.isSplat())
      return splat(elementType, tensor.getShape(),
                   convert(dense.getSplatValue<Number>()));
    TensorData array(elementType, tensor.getShape());
    int64_t offset = 0;
    for (Number value : dense.getValues<Number>())
      array.set(offset++, convert(value));
    return array;
  };
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute)) {
    if (isa<FloatType>(elementType))
      return fill(dense, APFloat(0.0));
    return fill(dense, APInt());
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return fromBytes(elementType, tensor.getShape(), blob->getData());
  return std::nullopt;
}

std::optional<TensorData> TensorData::fromBytes(Type elementType,
                                                ArrayRef<int64_t> shape,
                                                ArrayRef<char> bytes) {
  unsigned size = elementBytes(elementType);
  if (static_cast<int64_t>(bytes.size()) !=
      ShapedType::getNumElements(shape) * size)
    return std::nullopt;
  TensorData array(elementType, shape);
  for (int64_t i = 0, e = array.numElements(); i < e; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    if (auto number = dyn_cast<FloatType>(elementType)) {
      APFloat value(number.getFloatSemantics(),
                    APInt(number.getWidth(), bits, /*isSigned=*/false,
                          /*implicitTrunc=*/true));
      bool lost;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
      array.set(i, {value.convertToDouble(), 0});
    } else {
      array.set(i, {0, wrapTo(static_cast<int64_t>(bits), elementType)});
    }
  }
  return array;
}

std::vector<char> TensorData::toBytes() const {
  unsigned size = elementBytes(type);
  std::vector<char> bytes(numElements() * size);
  for (int64_t i = 0, e = numElements(); i < e; ++i) {
    Scalar value = get(isSplatArray ? 0 : i);
    uint64_t bits = static_cast<uint64_t>(value.integer);
    if (auto number = dyn_cast<FloatType>(type)) {
      APFloat converted(value.real);
      bool lost;
      converted.convert(number.getFloatSemantics(),
                        APFloat::rmNearestTiesToEven, &lost);
      bits = converted.bitcastToAPInt().getZExtValue();
    }
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

bool simulator::nextIndex(MutableArrayRef<int64_t> index,
                          ArrayRef<int64_t> shape) {
  for (size_t i = shape.size(); i-- > 0;) {
    if (++index[i] < shape[i])
      return true;
    index[i] = 0;
  }
  return false;
}

std::string simulator::indexText(ArrayRef<int64_t> index) {
  std::string text = "[";
  for (auto [i, value] : llvm::enumerate(index))
    text += (i ? ", " : "") + std::to_string(value);
  return text + "]";
}

std::string simulator::scalarText(Scalar value, Type type) {
  if (!isa<FloatType>(type))
    return std::to_string(value.integer);
  if (std::isnan(value.real))
    return "nan";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", value.real);
  return text;
}
