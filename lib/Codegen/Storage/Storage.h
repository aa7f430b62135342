//===- Storage.h - which values are kept in memory, and how -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tensor value is either kept in memory or recomputed where it is read.
// StoragePlan decides which, chooses the order of the elements in memory, and
// finds the contractions that one GEMM call can do.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_STORAGE_STORAGE_H
#define TP_LIB_CODEGEN_STORAGE_STORAGE_H

#include "Gemm/Epilogue.h"
#include "Storage/StoredValues.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/Program.h"
#include "llvm/ADT/MapVector.h"

namespace tp::target {

struct StepLoops;

/// One operand of a GEMM command.
struct GemmOperand {
  mlir::Value root;
  int64_t elementOffset = 0;
  int64_t ld = 1;
  bool transpose = false;
  llvm::SmallVector<int64_t> batchStrides;
};

/// C = alpha op(A) op(B) + beta C for every index of `batch`, or, with an
/// epilogue, C = gelu(alpha op(A) op(B) + residual + bias).
struct Gemm {
  mlir::Operation *op = nullptr;
  /// Of A. That of B is the same but for products of two types; that of C is
  /// its storage's: the same, or f32.
  mlir::Type elementType;
  int64_t m = 1, n = 1, k = 1;
  /// Where the ranks' k differ: every rank's; `k` is the largest.
  llvm::SmallVector<int64_t> kOfRank;
  double alpha = 1.0, beta = 0.0;
  GemmOperand a, b, c;
  llvm::SmallVector<int64_t> batch;
  /// A matrix like C.
  std::optional<GemmOperand> residual;
  /// n elements, one per column; their stride is 1.
  std::optional<GemmOperand> bias;
  bool gelu = false;
  /// i1: the rows of C that are computed; others have any value. `ld` is the
  /// stride from one row to the next.
  std::optional<GemmOperand> rows;
  /// i1: the columns of op(A) and rows of op(B) that are read and multiplied.
  /// `ld` is the stride from one to the next.
  std::optional<GemmOperand> terms;
  /// i64, for every index of `batch`: which of the matrices of a table B is.
  /// Those of other places than 0 to `tableSize` - 1 are the nearest.
  std::optional<GemmOperand> places;
  int64_t tableSize = 0, tableStride = 0;

  /// How many products of two matrices it is.
  int64_t matrices() const;
  int64_t flops() const;
  /// Whether C's old value is added.
  bool addsToC() const { return beta != 0.0 && !residual; }
  /// The stored values it reads.
  llvm::SmallVector<mlir::Value, 4> reads() const;
};

/// Which elements of a value are needed: those where the element of `condition`
/// at place(index) is true.
struct NeededWhere {
  mlir::Value condition;
  mlir::AffineMap place;
};

/// A value that is looked up in a table: its element at an index is the table's
/// at tableIndex(index), moved along `dim` by the element of `places`, i64, at
/// placeIndex(index).
struct Lookup {
  mlir::Value table;
  unsigned dim = 0;
  mlir::AffineMap tableIndex;
  mlir::Value places;
  mlir::AffineMap placeIndex;
};

/// A loop of which only the first iterations count: `counts[rank]` of them.
/// Without a loop, `counts` says whether the rank has any (0 or 1).
struct LoopPrefix {
  std::optional<unsigned> loop;
  llvm::SmallVector<int64_t> counts;
};

/// The operands of a linalg op that multiplies two tensors and adds the
/// products up in its only result, in f32 or f64.
struct Contraction {
  mlir::linalg::LinalgOp op;
  mlir::OpOperand *lhs = nullptr, *rhs = nullptr;
  /// i1: which products are added; all where it is null. It has no loops but
  /// those of both factors.
  mlir::OpOperand *terms = nullptr;
  /// Its body extends an element of an operand before it multiplies.
  bool widens = false;
  /// What a GEMM writes: the op's result, or what the epilogue makes of it.
  mlir::Value result;
  Epilogue epilogue;
  /// Reduction loops that some rank does not run to the end, each once.
  llvm::SmallVector<LoopPrefix, 1> prefixes;

  /// Whether every rank adds all products.
  bool addsAll() const { return prefixes.empty() && !terms; }
};
std::optional<Contraction> contractionOf(mlir::Operation *op);
/// Whether a GEMM of the target multiplies operands of these types: of one, or,
/// with products and sums of f32, two of f16, two of bf16, or f32 and one of
/// these.
bool hasFactorsOfGemm(const Contraction &contraction,
                      const TargetTraits &traits);
/// The forms in which a GEMM with epilogues may do `contraction` and what
/// follows it, the one that does most last; none if it can only write the sum.
/// Steps between that round to the type of the operands are left out: what is
/// written is rounded once. `mayRead` says whether a value is there to be read,
/// or may be kept for it.
std::vector<Contraction>
formsWithEpilogue(const Contraction &contraction,
                  llvm::function_ref<bool(mlir::Value)> mayRead);

/// The value that a GEMM would read for `operand`: views and scalings by a
/// constant are passed, the latter multiplied into `alpha`.
mlir::Value gemmSource(mlir::Value operand, double &alpha);

/// A value that is kept as a part of another: its element at an index is the
/// other's element at `place` of the index.
struct Subview {
  mlir::Value whole;
  mlir::AffineMap place;
};

/// Fails with a located error at what the target does not handle.
mlir::LogicalResult checkProgram(mlir::func::FuncOp function,
                                 const TargetTraits &traits);

/// The same of the ops in a kernel of a program.
mlir::LogicalResult checkKernel(tp::KernelOp kernel,
                                const TargetTraits &traits);

class StoragePlan : public StoredValues {
public:
  StoragePlan(mlir::func::FuncOp function, const TargetTraits &traits)
      : StoredValues(traits), function(function) {}

  /// Decides everything; fails with a located error at an op that the target
  /// does not handle.
  mlir::LogicalResult build();

  /// The stored value that a collective or a lookup of `operand` reads: itself
  /// (a copy is a view too, but stored), or the source of its views.
  mlir::Value storedBehind(mlir::Value operand) const;
  /// The GEMM that does the contraction `op`, if one does.
  const Gemm *gemmOf(mlir::Operation *op) const;
  /// The GEMM that writes the result of `op`: of the contraction, or of the
  /// last op of its epilogue.
  const Gemm *gemmWriting(mlir::Operation *op) const;
  /// The value that `value` is a subview of; null if it is kept by itself, or
  /// not at all.
  const Subview *subviewOf(mlir::Value value) const {
    auto it = subviews.find(value);
    return it == subviews.end() ? nullptr : &it->second;
  }

  /// Which elements of `value` are needed; null if all may be.
  const NeededWhere *neededOf(mlir::Value value) const {
    auto it = needed.find(value);
    return it == needed.end() ? nullptr : &it->second;
  }

  /// How `value` is looked up, if a GEMM may do it; null else.
  const Lookup *lookupOf(mlir::Value value) const {
    auto it = lookups.find(value);
    return it == lookups.end() || isStored(value) ? nullptr : &it->second;
  }

  /// For an argument kept in another order than the source's: the permutation.
  llvm::ArrayRef<int64_t> argumentPermutation(unsigned argument) const;

private:
  void store(mlir::Value value);
  void takeNeeded();
  void takeLookups();
  void storeDemanded();
  void findSubviews();
  void settleSubviews();
  /// The value whose memory holds `value`: the one it is a subview of, or
  /// itself.
  mlir::Value keptOf(mlir::Value value) const {
    const Subview *part = subviewOf(value);
    return part ? part->whole : value;
  }
  void decideInlining();
  void settleRequests();
  bool fitsAttention(mlir::OpOperand &operand, const StepLoops &step) const;
  void fitAttentions();
  void chooseGemms();
  void orderSums();
  void permuteWeights();

  bool request(mlir::Value value);
  std::optional<Gemm> analyse(const Contraction &contraction) const;
  std::optional<Gemm> analyse(const Contraction &contraction,
                              const NeededWhere *rows) const;
  void takeEpilogues(Contraction &contraction);
  bool shorten(mlir::Operation *op, Contraction &contraction);
  void leaveToKernels(mlir::Operation *op, Contraction &contraction);
  bool holds(const Contraction &contraction);
  bool isWholeWithoutTerms(const Contraction &contraction,
                           const Gemm &gemm) const;
  void setGemm(mlir::Operation *op, const Contraction &contraction,
               const Gemm &gemm);
  bool allGemmsHold(mlir::Value root) const;
  bool tryPush(mlir::Value operand, const Contraction &contraction);
  void pack(mlir::Value operand);
  mlir::Value copyInto(mlir::OpOperand &operand);
  void withdraw(mlir::Value root);
  bool isRowMajor(mlir::Value value) const;
  bool liesRowMajor(mlir::Value value) const;

  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, NeededWhere> needed;
  llvm::DenseMap<mlir::Value, Lookup> lookups;
  llvm::DenseMap<mlir::Value, Subview> subviews;
  llvm::MapVector<mlir::Operation *, Contraction> contractions;
  /// What to do with a contraction whose epilogue fits no GEMM, best last.
  llvm::DenseMap<mlir::Operation *, std::vector<Contraction>> shorter;
  /// Intermediate values of a GEMM's epilogue, which need no memory.
  llvm::DenseSet<mlir::Value> withinEpilogues;
  llvm::DenseMap<mlir::Operation *, Gemm> gemms;
  /// The GEMMs that read or write a value, through views and scalings.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *, 2>> gemmsAt;
  /// Of the op that computes what a GEMM writes.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> contractionWriting;
  /// Values whose order in memory is fixed, and the operands that required it.
  llvm::DenseSet<mlir::Value> ordered;
  llvm::DenseMap<mlir::Value, mlir::OpOperand *> requesters;
  llvm::DenseMap<unsigned, llvm::SmallVector<int64_t>> permutations;
};

/// The stored value that holds the element of `value` at `index`, and its
/// address: views are passed, and scalings by a constant are multiplied into
/// `alpha`. None where it is computed, or at a place that depends on data.
std::optional<std::pair<mlir::Value, mlir::AffineExpr>>
addressOf(const StoragePlan &plan, mlir::Value value, Indices index,
          const IndexSpace &space, double &alpha);

/// Lets the backward pass compute elements of `function` again that it would
/// keep otherwise. Returns of how many values. The function is cleaned up: what
/// both passes compute is one value.
unsigned recomputeElements(mlir::func::FuncOp function);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_STORAGE_STORAGE_H
