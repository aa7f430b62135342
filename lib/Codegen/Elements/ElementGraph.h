//===- ElementGraph.h - how an element is computed --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element of a tensor at an index over some loops, as a graph of scalar
// operations. Views, broadcasts and fused or separate elementwise ops all give
// the same graph, so that what a program computes can be recognised however it
// is written. Equal elements are one node.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ELEMENTS_ELEMENTGRAPH_H
#define TP_LIB_CODEGEN_ELEMENTS_ELEMENTGRAPH_H

#include "ViewAnalysis.h"
#include <deque>
#include <map>

namespace tp::target {

/// One scalar, as a function of the loops of its graph.
struct Element {
  enum class Kind {
    /// `constant`.
    Constant,
    /// `index`, over the loops.
    Index,
    /// The element of `value` at `indices`; nothing looks further into it.
    Leaf,
    /// A scalar of the function, `value`.
    Scalar,
    /// What `op` makes of `operands`.
    Compute,
    /// The element of the tensor `value` at the indices `operands`.
    Extract,
    /// What a reduction (`value`, its result) has added up so far.
    Accumulator
  };
  Kind kind = Kind::Constant;
  mlir::Type type;
  mlir::TypedAttr constant;
  mlir::AffineExpr index;
  mlir::Value value;
  Indices indices;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<const Element *> operands;
  /// A bit for every loop that it depends on.
  uint64_t loops = 0;
  /// Position among the graph's nodes: operands come first.
  unsigned number = 0;

  bool dependsOn(unsigned loop) const { return loops >> loop & 1; }
};

/// A tensor that holds an element at `indices`.
struct ElementPlace {
  mlir::Value tensor;
  Indices indices;
};

class ElementGraph {
public:
  static constexpr unsigned mostLoops = 60;

  explicit ElementGraph(mlir::MLIRContext *context) : context(context) {}

  /// A new loop; its number.
  unsigned addLoop(int64_t extent);
  const IndexSpace &space() const { return loopSpace; }
  int64_t extent(unsigned loop) const { return loopSpace.dims[loop].hi + 1; }
  unsigned numLoops() const { return loopSpace.dims.size(); }
  /// The index of a loop; the constant 0 where it runs once.
  mlir::AffineExpr loop(unsigned number) const;

  /// The element of `tensor` at `index`.
  const Element *element(mlir::Value tensor, const Indices &index);
  /// What an iteration of `op` yields for `result`; null where the body has an
  /// op that is no scalar operation. What a body checks is no part of what it
  /// yields: with `mayCheck` false it is null there too.
  const Element *yielded(mlir::linalg::LinalgOp op, unsigned result,
                         const Indices &loops, bool mayCheck = false);
  /// What the value `value` of the body of `op` is in an iteration.
  const Element *inBody(mlir::linalg::LinalgOp op, mlir::Value value,
                        const Indices &loops) {
    llvm::DenseMap<mlir::Value, const Element *> inner;
    return inBody(op, value, loops, inner);
  }
  const Element *scalar(mlir::Value value);

  /// The tensors that hold the element, from where it is computed outwards.
  llvm::ArrayRef<ElementPlace> placesOf(const Element *element) const;

private:
  using Key = std::vector<const void *>;
  const Element *intern(Element element);
  const Element *find(mlir::Value tensor, const Indices &index);
  const Element *inBody(mlir::linalg::LinalgOp op, mlir::Value value,
                        const Indices &loops,
                        llvm::DenseMap<mlir::Value, const Element *> &known);
  const Element *leaf(mlir::Value tensor, const Indices &index);
  const Element *indexElement(mlir::AffineExpr expr, mlir::Type type);
  const Element *compute(mlir::Operation *op,
                         llvm::ArrayRef<const Element *> operands);
  uint64_t loopsOf(llvm::ArrayRef<mlir::AffineExpr> exprs) const;

  mlir::MLIRContext *context;
  IndexSpace loopSpace;
  std::deque<Element> elements;
  std::map<Key, const Element *> interned;
  std::map<Key, const Element *> known;
  std::map<const Element *, llvm::SmallVector<ElementPlace>> places;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ELEMENTS_ELEMENTGRAPH_H
