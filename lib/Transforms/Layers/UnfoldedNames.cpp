//===- UnfoldedNames.cpp - names in the unfolded program ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnfoldedNames.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::layers;

/// The names that the folded program's layers have, `distance` layers on.
LayerNames &UnfoldedNames::movedBy(int64_t distance) {
  auto [it, isNew] = names.try_emplace(distance);
  if (!isNew)
    return it->second;
  auto add = [&](int64_t folded) {
    it->second.add(whole, folded <= copied ? folded : folded + copies,
                   folded + distance);
  };
  // One entry of the plan may name some layers; the copied layer is what counts
  // in most of the names.
  add(copied);
  const Correspondence &arguments = whole.correspondences().front();
  int64_t last = arguments.first + arguments.size() - 1 - copies;
  for (int64_t folded = arguments.first; folded <= last; ++folded)
    add(folded);
  return it->second;
}

void UnfoldedNames::rename(Operation *op, int64_t folded, int64_t layer,
                           bool isNamedByLayer) {
  LayerNames &moved = movedBy(layer - folded);
  if (isNamedByLayer)
    op->walk([&](Operation *inner) {
      inner->setLoc(moved.rename(inner->getLoc()));
    });
  for (StringRef kind : {StringRef(attr::reason), StringRef(attr::cause)})
    if (Attribute text = op->getAttr(kind))
      op->setAttr(kind, moved.rename(text));
}
