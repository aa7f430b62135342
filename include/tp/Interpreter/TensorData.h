//===- TensorData.h - the numbers of one tensor -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERPRETER_TENSORDATA_H
#define TP_INTERPRETER_TENSORDATA_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <memory>
#include <optional>
#include <vector>

namespace tp::simulator {

/// How an element is kept: f8, f16, bf16 and f32 as float, f64 as double,
/// integers and index sign-extended to 64 bits (i1 as 0 or 1).
enum class ElementStorage : uint8_t { Float, Double, Int };

/// The storage of elements of `type`, or nothing for a type that the
/// interpreter does not know.
std::optional<ElementStorage> storageOf(mlir::Type type);

/// Bits of an integer type; 64 for index.
unsigned integerWidth(mlir::Type type);

/// One element; `real` or `integer` counts, by the storage of its type.
struct Scalar {
  double real = 0;
  int64_t integer = 0;
};

/// The nearest number of float type `type`.
double roundTo(double value, mlir::Type type);

/// `value` cut to the width of `type` and extended again.
int64_t wrapTo(int64_t value, mlir::Type type);

/// The number a scalar attribute holds, if it holds one.
std::optional<Scalar> scalarOf(mlir::Attribute attribute);

/// What padding is filled with: NaN, or the smallest integer.
Scalar poisonOf(mlir::Type elementType);

/// The numbers of one tensor: a dense row-major array, or one element for all
/// (a splat). Copies share the numbers; only the code that made them may write.
class TensorData {
public:
  TensorData() = default;
  /// All elements are zero.
  TensorData(mlir::Type elementType, llvm::ArrayRef<int64_t> shape);
  static TensorData splat(mlir::Type elementType, llvm::ArrayRef<int64_t> shape,
                          Scalar value);
  static TensorData scalar(mlir::Type type, Scalar value) {
    return splat(type, {}, value);
  }
  static TensorData poison(mlir::Type elementType,
                           llvm::ArrayRef<int64_t> shape);
  /// The numbers of a constant, or nothing where its kind is unknown.
  static std::optional<TensorData> fromAttribute(mlir::ElementsAttr attribute);
  /// From little-endian bytes as the type lays them out (i1 one byte each);
  /// nothing where their number is not the array's.
  static std::optional<TensorData> fromBytes(mlir::Type elementType,
                                             llvm::ArrayRef<int64_t> shape,
                                             llvm::ArrayRef<char> bytes);
  std::vector<char> toBytes() const;

  /// The same elements under another shape.
  TensorData reshaped(llvm::ArrayRef<int64_t> shape) const;

  explicit operator bool() const { return buffer != nullptr; }
  mlir::Type elementType() const { return type; }
  ElementStorage storage() const { return kind; }
  llvm::ArrayRef<int64_t> shape() const { return dims; }
  int64_t numElements() const;
  bool isSplat() const { return isSplatArray; }
  /// Elements between neighbours along every dimension; 0 for a splat.
  llvm::SmallVector<int64_t> strides() const;

  /// Element access by offset (see `strides`). `get` and `set` convert; the
  /// pointers are those of the storage.
  Scalar get(int64_t offset) const;
  void set(int64_t offset, Scalar value);
  /// Copies one element of an array of the same element type.
  void copy(int64_t offset, const TensorData &from, int64_t fromOffset) {
    if (kind == ElementStorage::Float)
      floats()[offset] = from.floats()[fromOffset];
    else
      integers()[offset] = from.integers()[fromOffset];
  }
  float *floats() const { return reinterpret_cast<float *>(buffer->data()); }
  double *doubles() const { return reinterpret_cast<double *>(buffer->data()); }
  int64_t *integers() const {
    return reinterpret_cast<int64_t *>(buffer->data());
  }

  /// Which elements nothing has written yet (tensor.empty). An empty mask
  /// means that all are written.
  bool isDefined(int64_t offset) const {
    return !undefined || !(*undefined)[isSplatArray ? 0 : offset];
  }
  bool isAllDefined() const { return !undefined; }
  void setUndefined(int64_t offset, bool value);
  void setAllUndefined();

private:
  mlir::Type type;
  ElementStorage kind = ElementStorage::Float;
  llvm::SmallVector<int64_t> dims;
  bool isSplatArray = false;
  // Double and Int fill 8 bytes, Float half of them.
  std::shared_ptr<std::vector<int64_t>> buffer;
  std::shared_ptr<std::vector<uint8_t>> undefined;
};

/// Row-major strides of a shape.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Moves `index` to the next one of `shape`; false after the last.
bool nextIndex(llvm::MutableArrayRef<int64_t> index,
               llvm::ArrayRef<int64_t> shape);

/// `[1, 2, 3]`.
std::string indexText(llvm::ArrayRef<int64_t> index);
/// A number as a message shows it.
std::string scalarText(Scalar value, mlir::Type type);

} // namespace tp::simulator

#endif // TP_INTERPRETER_TENSORDATA_H
