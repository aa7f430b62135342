//===- StaticValues.h - elements known at compile time ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates elements that depend on constants and indices alone, as masks often
// do, a row at a time.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ELEMENTS_STATICVALUES_H
#define TP_LIB_CODEGEN_ELEMENTS_STATICVALUES_H

#include "ElementGraph.h"
#include "NumberRow.h"
#include <memory>

namespace tp::target {

/// Whether elements of the type are numbers that can be evaluated.
bool isKnownType(mlir::Type type);
/// The number that an attribute is; false if it is none, or has too many bits.
bool numberOf(mlir::Attribute attribute, Number &number);

/// Tensors of constants, each evaluated once.
class StaticTensors {
public:
  /// A larger one is taken as unknown.
  static constexpr int64_t mostElements = int64_t(1) << 24;

  /// The number that a scalar of the function is, such as a rank's place. It is
  /// set before anything is evaluated.
  void set(mlir::Value scalar, int64_t number) { scalars[scalar] = number; }
  std::optional<int64_t> findScalar(mlir::Value scalar) const;

  /// All elements, row-major; null if they are not known at compile time.
  const std::vector<Number> *find(mlir::Value tensor);

private:
  std::unique_ptr<std::vector<Number>> evaluate(mlir::Value tensor);
  std::unique_ptr<std::vector<Number>> reduction(mlir::linalg::LinalgOp op,
                                                 unsigned result);
  std::unique_ptr<std::vector<Number>>
  piecewise(mlir::Value tensor, const PiecewiseSource &piecewise);
  std::unique_ptr<std::vector<Number>> view(mlir::Value tensor,
                                            const View &view);

  llvm::DenseMap<mlir::Value, int64_t> scalars;
  std::map<const void *, std::unique_ptr<std::vector<Number>>> known;
  unsigned depth = 0;
};

/// Evaluates elements of a graph for all indices of one loop at a time.
class RowEvaluator {
public:
  RowEvaluator(const ElementGraph &graph, StaticTensors &tensors,
               unsigned along)
      : graph(graph), tensors(tensors), along(along),
        position(graph.numLoops(), 0) {}

  /// The indices of the other loops.
  llvm::SmallVector<int64_t> &at() { return position; }
  /// Null if the element is not known at compile time.
  const NumberRow *row(const Element *element);

private:
  struct Known {
    llvm::SmallVector<int64_t> at;
    NumberRow row;
    bool isStatic = false;
  };
  bool evaluate(const Element &element, NumberRow &row);
  bool lookUp(const Element &element, NumberRow &row);
  int64_t index(mlir::AffineExpr expr, int64_t i) const;
  NumberRow indices(mlir::AffineExpr expr, bool varies) const;

  const ElementGraph &graph;
  StaticTensors &tensors;
  unsigned along;
  llvm::SmallVector<int64_t> position;
  std::map<const Element *, Known> known;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ELEMENTS_STATICVALUES_H
