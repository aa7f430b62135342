//===- ElementSums.h - elements as sums of products -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The derivative of a softmax is written in many ways: p * (g - sum), p * g -
// p * sum, with p as a quotient or as a product with an inverse. As sums of
// products of a few elements they are all the same.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_BACKWARD_ELEMENTSUMS_H
#define TP_LIB_CODEGEN_ATTENTION_BACKWARD_ELEMENTSUMS_H

#include "Elements/ElementGraph.h"

namespace tp::target {

/// `factor` times powers of elements; no exponent is 0.
struct ElementProduct {
  double factor = 1.0;
  std::map<const Element *, int> powers;

  ElementProduct operator*(const ElementProduct &other) const;
  bool operator==(const ElementProduct &other) const = default;
};

using ElementSum = llvm::SmallVector<ElementProduct, 2>;

ElementSum operator*(const ElementSum &first, const ElementSum &second);

/// What `element` is but for roundings. `known` gives what stands for an
/// element in place of how it is computed; other elements that are no sum,
/// product or quotient stand for themselves. None if it grows too long.
std::optional<ElementSum>
sumOf(const Element *element,
      llvm::function_ref<std::optional<ElementSum>(const Element *)> known);

/// `factor` times `core`, which is no cast and no product with a constant.
struct ScaledElement {
  const Element *core;
  double factor;
};
ScaledElement withoutFactors(const Element *element);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_BACKWARD_ELEMENTSUMS_H
