//===- OpSignature.cpp - what an op is, wherever it stands ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSignature.h"
#include "mlir/IR/OperationSupport.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

static bool namesModule(StringAttr name) {
  return name == attr::reason || name == attr::cause || name == attr::values;
}

/// What is the same in all layers of an attribute that is kept beside the op's
/// own: of an attention's, all but its number.
static Attribute acrossLayers(NamedAttribute attribute) {
  if (attribute.getName() != attr::attention)
    return attribute.getValue();
  auto tag = dyn_cast<DictionaryAttr>(attribute.getValue());
  if (!tag || !tag.contains(attr::attentionNumber))
    return attribute.getValue();
  NamedAttrList rest(tag);
  rest.erase(attr::attentionNumber);
  return rest.getDictionary(tag.getContext());
}

/// The attributes kept beside the op's own, without those that name its module.
static llvm::hash_code hashOfDiscardable(Operation *op) {
  DictionaryAttr attributes = op->getDiscardableAttrDictionary();
  bool plain = llvm::none_of(attributes, [](NamedAttribute attribute) {
    return namesModule(attribute.getName()) ||
           attribute.getName() == attr::attention;
  });
  if (plain)
    return hash_value(attributes);
  llvm::hash_code hash = 0;
  for (NamedAttribute attribute : attributes)
    if (!namesModule(attribute.getName()))
      hash = llvm::hash_combine(hash, attribute.getName(),
                                acrossLayers(attribute));
  return hash;
}

static bool sameDiscardable(Operation *a, Operation *b) {
  DictionaryAttr left = a->getDiscardableAttrDictionary();
  DictionaryAttr right = b->getDiscardableAttrDictionary();
  if (left == right)
    return true;
  auto relevant = [](DictionaryAttr attributes) {
    return llvm::make_filter_range(attributes, [](NamedAttribute attribute) {
      return !namesModule(attribute.getName());
    });
  };
  return llvm::equal(
      relevant(left), relevant(right), [](NamedAttribute a, NamedAttribute b) {
        return a.getName() == b.getName() && acrossLayers(a) == acrossLayers(b);
      });
}

static llvm::hash_code hashOfInherent(Operation *op) {
  if (auto pin = dyn_cast<ConstrainOp>(op))
    return llvm::hash_combine(pin.getMeshAttr(), pin.getAxisAttr(),
                              pin.getPlacementAttr(), pin.getViewAttr(),
                              pin.getPortAttr(), pin.getLazyAttr(),
                              pin.getDimsAttr());
  return op->hashProperties();
}

static bool sameInherent(Operation *a, Operation *b) {
  if (auto left = dyn_cast<ConstrainOp>(a)) {
    auto right = cast<ConstrainOp>(b);
    return left.getMeshAttr() == right.getMeshAttr() &&
           left.getAxisAttr() == right.getAxisAttr() &&
           left.getPlacementAttr() == right.getPlacementAttr() &&
           left.getViewAttr() == right.getViewAttr() &&
           left.getPortAttr() == right.getPortAttr() &&
           left.getLazyAttr() == right.getLazyAttr() &&
           left.getDimsAttr() == right.getDimsAttr();
  }
  return a->getName().compareOpProperties(a->getPropertiesStorage(),
                                          b->getPropertiesStorage());
}

/// Bodies that differ mostly do so in what their ops are.
static void hashRegions(Operation *op, llvm::hash_code &hash) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block) {
        hash = llvm::hash_combine(hash, inner.getName(), hashOfInherent(&inner),
                                  inner.getNumOperands());
        hashRegions(&inner, hash);
      }
}

uint64_t tp::layers::hashAcrossLayers(Operation *op) {
  llvm::hash_code hash = llvm::hash_combine(
      op->getName(), hashOfInherent(op), hashOfDiscardable(op),
      llvm::hash_combine_range(op->result_type_begin(), op->result_type_end()),
      llvm::hash_combine_range(op->operand_type_begin(),
                               op->operand_type_end()));
  hashRegions(op, hash);
  return hash;
}

/// The regions compute the same; values from outside are not looked at.
static bool sameRegions(Operation *a, Operation *b) {
  for (auto [left, right] : llvm::zip_equal(a->getRegions(), b->getRegions())) {
    if (left.getBlocks().size() != right.getBlocks().size())
      return false;
    // Bodies are short.
    SmallVector<std::pair<Value, Value>, 16> inner;
    auto counterpart = [&](Value value) {
      auto *it = llvm::find_if(
          inner, [&](const auto &both) { return both.first == value; });
      return it == inner.end() ? Value() : it->second;
    };
    for (auto [from, to] : llvm::zip_equal(left, right)) {
      if (from.getNumArguments() != to.getNumArguments() ||
          from.getOperations().size() != to.getOperations().size())
        return false;
      for (auto [x, y] :
           llvm::zip_equal(from.getArguments(), to.getArguments())) {
        if (x.getType() != y.getType())
          return false;
        inner.push_back({x, y});
      }
      for (auto [x, y] : llvm::zip_equal(from, to)) {
        if (!tp::layers::isEqualAcrossLayers(&x, &y) ||
            x.getNumSuccessors() != 0)
          return false;
        for (auto [u, v] : llvm::zip_equal(x.getOperands(), y.getOperands())) {
          Value known = counterpart(u);
          bool bothFromOutside =
              !known && !b->isAncestor(v.getParentBlock()->getParentOp());
          if (!bothFromOutside && known != v)
            return false;
        }
        for (auto [u, v] : llvm::zip_equal(x.getResults(), y.getResults()))
          inner.push_back({u, v});
      }
    }
  }
  return true;
}

bool tp::layers::isEqualAcrossLayers(Operation *a, Operation *b) {
  return a->getName() == b->getName() &&
         a->getNumRegions() == b->getNumRegions() &&
         a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() && sameInherent(a, b) &&
         sameDiscardable(a, b) && sameRegions(a, b);
}
