//===- AttentionForm.h - a program's attentions -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// o[i] = sum over j of softmax over j (scale * q[i] . k[j] + bias[i, j]) *
// v[j], found in a program by what it computes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_ATTENTIONFORM_H
#define TP_LIB_CODEGEN_ATTENTION_ATTENTIONFORM_H

#include "Elements/StaticValues.h"
#include "Storage/Storage.h"

namespace tp::target {

/// Something that is added to the scores: `factor` times `value`; or with
/// `isMask` 0 where `value` is `visible` and `factor` elsewhere.
struct BiasTerm {
  const Element *value = nullptr;
  double factor = 1.0;
  bool isMask = false, visible = true;
};

/// The keys that a query sees: from `first` to before `end`.
struct KeySpan {
  int64_t first = 0, end = 0;
  bool isEmpty() const { return first >= end; }
};

/// What is known at compile time of something that is added.
struct KnownTerm {
  bool isKnown = false;
  /// It masks keys or leaves them as they are: the same for all batches and
  /// heads, and a query sees keys that follow each other.
  bool isMask = false;
  /// Of every query; one if all see the same. A list for each number that the
  /// ranks' positions on the mesh may give.
  std::vector<std::vector<KeySpan>> spans;
  /// Which list is whose; empty if it is the same for all ranks.
  std::vector<unsigned> listOfRank;
  /// Numbers that it adds besides 0.
  bool hasInfinity = false, hasFinite = false;
};

/// What is known of a program's terms. Layers add the same ones: each is
/// evaluated once.
struct KnownTerms {
  /// Whether masks may differ between ranks.
  bool mayDifferByRank = false;
  StaticTensors tensors;
  std::map<std::string, KnownTerm> terms;
};

/// Rows without keys give zero where the program asks, else NaN.
enum class EmptyRows { None, Zero, NaN };

/// One attention. Its loops are those of the result's elements, then keys, then
/// the columns of q and k.
struct AttentionForm {
  explicit AttentionForm(mlir::MLIRContext *context) : graph(context) {}

  ElementGraph graph;
  /// What it computes; its indices over the loops.
  mlir::Value result;
  Indices resultIndex;
  unsigned numResultLoops = 0;
  /// The dimension of the result that each of its loops is part of.
  llvm::SmallVector<unsigned> resultDims;
  /// Loops of the result: the queries, the columns of v, and all others.
  unsigned query = 0, key = 0;
  llvm::SmallVector<unsigned> batch, valueColumns, headColumns;
  /// Of q, k, v and the result; and what is added up in.
  mlir::Type elementType, sumType;
  double scale = 1.0;
  /// With the loop of queries or keys alone along one dimension.
  ElementPlace q, k, v;
  llvm::SmallVector<BiasTerm> bias;
  /// Query i sees the keys j with lower <= j - i <= upper.
  std::optional<int64_t> lower, upper;
  /// In place of these every query has a span of keys, which depends on the
  /// rank: its queries are some of all. `spanMasks` are the masks that do it,
  /// `mostSeen` is the number of keys that the queries of a rank see at most.
  bool hasSpans = false;
  llvm::SmallVector<BiasTerm> spanMasks;
  int64_t mostSeen = 0;
  EmptyRows emptyRows = EmptyRows::None;
  /// The ops that multiply.
  mlir::Operation *scores = nullptr, *output = nullptr;
  /// What the weights are: `exponential` of the masked scores `shifted` less
  /// their maximum, by their sum `divisor`. `scored` is the product of
  /// `qElement` and `kElement`.
  const Element *exponential = nullptr, *divisor = nullptr, *shifted = nullptr,
                *scored = nullptr, *qElement = nullptr, *kElement = nullptr,
                *vElement = nullptr;
  /// All that is added to the scores, in bounds and spans too.
  llvm::SmallVector<BiasTerm> terms;
  /// `qElement` is this times the element of q; of k and v likewise.
  double qFactor = 1.0, kFactor = 1.0;

  int64_t extent(unsigned loop) const { return graph.extent(loop); }
};

/// The attention whose second product `op` is, if there is one and nothing that
/// it reads depends on its scores.
std::unique_ptr<AttentionForm> attentionOf(mlir::Operation *op,
                                           KnownTerms &known);

/// Whether nothing but its result is made of the scores.
bool usesScoresAlone(const AttentionForm &form);

/// Splits what is added to the scores into bounds on j - i, where that is
/// exactly what some terms do, and the rest; or into spans of keys where all of
/// it does that, on every rank others. False if the program does
/// something else with keys that are masked.
bool splitMask(AttentionForm &form, llvm::ArrayRef<BiasTerm> terms,
               bool zeroWithoutKeys, KnownTerms &known);

/// What is left of `element` without casts between float types.
const Element *withoutCasts(const Element *element);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_ATTENTIONFORM_H
