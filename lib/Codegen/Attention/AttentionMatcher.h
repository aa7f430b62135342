//===- AttentionMatcher.h - reads one attention -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the second product on, elements are followed to where they come from:
// through the weights (AttentionSoftmax.cpp) to the scores
// (AttentionScores.cpp) and to q, k and v (AttentionOperands.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_ATTENTIONMATCHER_H
#define TP_LIB_CODEGEN_ATTENTION_ATTENTIONMATCHER_H

#include "AttentionForm.h"

namespace tp::target {

template <typename Op> bool computes(const Element *element) {
  return element->kind == Element::Kind::Compute && llvm::isa<Op>(element->op);
}

/// A cast that may be left out: one that is exact, or rounds to f32, f16 or
/// bf16. What is rounded to f8, or was computed in f64, is meant to be so.
bool isFreeCast(const Element *element);
std::optional<double> constantOf(const Element *element);
/// Whether a reduction starts from a number that `fits`.
bool startsFrom(const Element *reduction,
                llvm::function_ref<bool(const llvm::APFloat &)> fits);
/// A product whose sums start from zero and that all ranks run to the end.
std::optional<Contraction> plainProduct(const Element *element);

/// Reads one attention, from its result's elements on.
class AttentionMatcher {
public:
  /// With `asTheyAre` operands are not looked for behind reshapes that would
  /// cut loops.
  AttentionMatcher(AttentionForm &form, KnownTerms &known, bool asTheyAre)
      : form(form), graph(form.graph), known(known), asTheyAre(asTheyAre) {}

  bool match();
  /// Where loops of the result have to be cut for operands to be linear.
  llvm::SmallVector<llvm::SmallVector<int64_t>> cuts;

protected:
  bool choosePlace(const Element *element, unsigned loop, double *scale,
                   ElementPlace &place);
  const Element *reduced(const Element *element, unsigned along,
                         mlir::Operation *&joins);
  std::optional<bool> saysEmpty(const Element *condition,
                                const Element *scores);

private:
  bool matchOutput(const Element *element);
  bool matchWeights(const Element *weights, const Element *divisor);
  bool matchEmptyRows(const Element *condition, bool zeroWhere,
                      const Element *scores);
  const Element *withoutRoundings(const Element *scores);
  bool addTerm(const BiasTerm &term);
  bool matchScores(const Element *scores, double factor);
  bool matchProduct(const Element *product, double factor);
  bool chooseLoops(llvm::ArrayRef<const Element *> masks);
  bool choosePlaces();
  bool fits(const ElementPlace &place, unsigned loop) const;

  std::optional<Indices> loopsOf(mlir::linalg::LinalgOp op,
                                 const Indices &index,
                                 llvm::SmallVectorImpl<unsigned> &added);
  bool isMinusInfinity(const Element *element, const Element *scores) const;
  bool multiplies(const Element *element);

  AttentionForm &form;
  ElementGraph &graph;
  KnownTerms &known;
  bool asTheyAre;
  const Element *qElement = nullptr, *kElement = nullptr, *vElement = nullptr;
  llvm::SmallVector<BiasTerm> terms;
  bool zeroWithoutKeys = false;
  /// Scores that are followed are rounded to f32, f16 or bf16 later.
  bool roundsScores = false;
  /// Loops of the weights, in their order.
  llvm::SmallVector<unsigned> weightLoops;
  std::map<const Element *, bool> multiplying;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_ATTENTIONMATCHER_H
