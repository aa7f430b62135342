//===- ElementEmitter.h - code for one element ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the scalar code that computes one element of a value, through views,
// piecewise sources and everything that is not stored, down to loads.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_EMIT_ELEMENTEMITTER_H
#define TP_LIB_CODEGEN_EMIT_ELEMENTEMITTER_H

#include "Kernels/FusedKernel.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "tp/IR/TP.h"
#include <map>

namespace tp::target {

/// The checks of the program; ids count from 1 in order of first emission.
/// Kernels that evaluate one check have copies of it: one message at one
/// location is one check.
struct AssertTable {
  llvm::MapVector<std::pair<mlir::StringAttr, mlir::Location>, int> ids;
  int idOf(mlir::cf::AssertOp op) {
    return ids
        .insert({{op.getMsgAttr(), op.getLoc()}, int(ids.size()) + 1})
        .first->second;
  }
};

class ElementEmitter {
public:
  ElementEmitter(const StoredValues &plan, AssertTable &asserts,
                 mlir::OpBuilder &builder, mlir::Location loc)
      : plan(plan), asserts(asserts), builder(builder), loc(loc) {}

  virtual ~ElementEmitter() = default;

  /// The value's address map and pointer in this kernel.
  struct Place {
    mlir::Value pointer;
    mlir::AffineMap address;
  };
  llvm::DenseMap<mlir::Value, Place> places;
  mlir::Value context;
  /// Where a failed check counts; null: everywhere. A thread without an element
  /// of its own may read memory that the element's own thread writes.
  mlir::Value isOwn;
  /// Function-level scalars are computed before this op, once.
  mlir::Operation *entryEnd = nullptr;

  IndexSpace space;
  llvm::SmallVector<mlir::Value> dims;

  /// Element `index` of `value`; `top` computes it even if it is stored.
  mlir::Value element(mlir::Value value, const Indices &index,
                      bool top = false);
  /// What the body of `op` yields at `loops`; null accumulators are read from
  /// the inits.
  llvm::SmallVector<mlir::Value> body(mlir::linalg::LinalgOp op,
                                      const Indices &loops,
                                      llvm::ArrayRef<mlir::Value> accumulators);
  virtual void store(mlir::Value scalar, mlir::Value target,
                     const Indices &index);
  /// Later reads of this element of `value` take `scalar`.
  void forward(mlir::Value value, const Indices &index, mlir::Value scalar);
  /// Forgets computed elements: their code does not dominate what follows.
  void clear() {
    elements.clear();
    bodies.clear();
  }

  /// What is known at one point of the code. A scope that keeps it at its
  /// beginning and takes it back at its end need not clear anything, as long
  /// as the dims of its loops are new ones.
  struct Known;
  Known known() const;
  void restore(Known known);

  mlir::Value constant(int64_t value);
  /// A scalar of the function of type index, as an i64.
  mlir::Value position(mlir::Value scalar);
  /// Whether `index` is one of `size` from `start` on.
  mlir::Value isWithin(mlir::AffineExpr index, mlir::Value start, int64_t size);

  /// Ops of bodies on the same operands are emitted once, and indices that
  /// depend on the same data are one symbol: for elements of neighbours.
  bool sharesOps = false;
  /// Operations on floats in the bodies emitted so far.
  int64_t floatOperations = 0;

protected:
  using Key = std::pair<const void *, std::vector<const void *>>;
  static Key keyOf(const void *of, llvm::ArrayRef<mlir::AffineExpr> index);

  mlir::Value emitIndex(mlir::AffineExpr expr);
  /// Of a stored value, from memory.
  virtual mlir::Value load(mlir::Value value, const Indices &index);
  mlir::Value elementPointer(mlir::Value pointer, mlir::Type type,
                             mlir::Value offset);
  /// Between an element and what memory holds of it.
  mlir::Value fromMemory(mlir::Value loaded, mlir::Type elementType);
  mlir::Value toMemory(mlir::Value scalar, mlir::Type elementType);
  mlir::Value zero(mlir::Type type);
  mlir::AffineExpr dataIndex(mlir::Value position, int64_t size);
  mlir::Operation *share(mlir::Operation *op);
  mlir::Value scalar(mlir::Value value);
  mlir::Value axisIndex(tp::AxisIndexOp op);
  llvm::SmallVector<mlir::AffineExpr> symbolsOf(const ScalarSymbols &scalars);
  mlir::AffineExpr addSymbol(mlir::Value value, IndexRange range);
  mlir::Value clamp(mlir::Value value, int64_t lo, int64_t hi);
  mlir::AffineExpr clampedInto(mlir::AffineExpr index, int64_t size);
  Indices beforeClamps(const Indices &index) const;
  mlir::Value piecewise(mlir::Value value, const PiecewiseSource &piecewise,
                        const Indices &index);
  mlir::Value box(const SourceBox &box, const Indices &local);
  mlir::Value extract(mlir::tensor::ExtractOp op, const Indices &loops,
                      mlir::IRMapping &mapping);
  mlir::AffineExpr indexOf(mlir::Value value, const Indices &loops);
  void check(mlir::cf::AssertOp op, mlir::Value condition);

  const StoredValues &plan;
  AssertTable &asserts;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> symbols;
  std::map<Key, mlir::Value> elements;
  std::map<Key, llvm::SmallVector<mlir::Value>> bodies;
  /// What the symbol of a clamped index is of. They are equal wherever what is
  /// read there is chosen.
  llvm::DenseMap<unsigned, mlir::AffineExpr> clamped;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::AffineExpr> viewSymbols;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::AffineExpr> dataSymbols;
  llvm::DenseMap<uint64_t, llvm::SmallVector<mlir::Operation *, 1>> shared;
};

struct ElementEmitter::Known {
  std::map<Key, mlir::Value> elements;
  std::map<Key, llvm::SmallVector<mlir::Value>> bodies;
  decltype(ElementEmitter::dataSymbols) dataSymbols;
  decltype(ElementEmitter::shared) shared;
};

/// The type of an element in memory.
mlir::Type memoryType(mlir::Type elementType);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_EMIT_ELEMENTEMITTER_H
