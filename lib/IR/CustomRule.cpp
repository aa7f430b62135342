//===- CustomRule.cpp - sharding rules as users write them ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/CustomOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

static bool isDimName(StringRef name) {
  return (llvm::isAlpha(name.front()) || name.front() == '_') &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// Reads "b i k, k j"; what is wrong goes to `problem`.
static bool readTensors(StringRef text, StringRef side,
                        SmallVectorImpl<CustomRule::Dims> &tensors,
                        std::string &problem) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    CustomRule::Dims &dims = tensors.emplace_back();
    SmallVector<StringRef> names;
    part.split(names, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef name : names) {
      if (!isDimName(name)) {
        problem = ("expected names of dimensions with spaces between, such as "
                   "'b i k', got '" +
                   name + "'")
                      .str();
        return false;
      }
      if (name != unsplitDim && llvm::is_contained(dims, name)) {
        problem = ("'" + name + "' stands twice in " + side + " #" +
                   Twine(tensors.size() - 1) +
                   ", expected another name or '_' for one of them")
                      .str();
        return false;
      }
      dims.push_back(name.str());
    }
  }
  return true;
}

static bool hasDim(ArrayRef<CustomRule::Dims> tensors, StringRef name) {
  return llvm::any_of(tensors, [&](const CustomRule::Dims &dims) {
    return llvm::is_contained(dims, name);
  });
}

static std::optional<ReductionKind> combineKind(StringRef text) {
  for (ReductionKind kind : {ReductionKind::Sum, ReductionKind::Product,
                             ReductionKind::Max, ReductionKind::Min})
    if (toString(kind) == text)
      return kind;
  return std::nullopt;
}

/// Reads what is reduced, and how; what is wrong goes to `problem`.
static bool readReduction(CustomRule &rule, ArrayAttr reduction,
                          StringAttr combine, std::string &problem) {
  for (Attribute each :
       reduction ? reduction.getValue() : ArrayRef<Attribute>()) {
    auto text = dyn_cast<StringAttr>(each);
    StringRef name = text ? text.getValue() : StringRef();
    if (!text || name == unsplitDim || !hasDim(rule.operands, name)) {
      problem = "'reduction' lists names of the operands' dimensions, got ";
      llvm::raw_string_ostream(problem) << each;
      return false;
    }
    for (auto [i, dims] : llvm::enumerate(rule.results))
      if (llvm::is_contained(dims, name)) {
        problem =
            ("'" + name + "' is reduced, but result #" + Twine(i) + " has it")
                .str();
        return false;
      }
    if (rule.reduces(name)) {
      problem = ("'reduction' lists '" + name + "' twice").str();
      return false;
    }
    rule.reduced.push_back(name.str());
  }
  if (!combine)
    return true;
  std::optional<ReductionKind> kind = combineKind(combine.getValue());
  if (!kind || rule.reduced.empty()) {
    problem = kind ? "'combine' is how the parts of a reduction combine, "
                     "expected 'reduction' too"
                   : ("'combine' is \"sum\", \"product\", \"max\" or \"min\", "
                      "got \"" +
                      combine.getValue() + "\"")
                         .str();
    return false;
  }
  rule.combine = *kind;
  return true;
}

std::optional<CustomRule> CustomRule::read(StringRef text, ArrayAttr reduction,
                                           StringAttr combine,
                                           std::string &problem) {
  CustomRule rule;
  auto [operands, results] = text.split("->");
  if (text.count("->") != 1) {
    problem = "expected the operands' dimensions, '->' and the results', such "
              "as \"b i k, k j -> b i j\"";
    return std::nullopt;
  }
  if (!readTensors(operands, "operand", rule.operands, problem) ||
      !readTensors(results, "result", rule.results, problem) ||
      !readReduction(rule, reduction, combine, problem))
    return std::nullopt;
  return rule;
}

std::optional<CustomRule> CustomRule::of(CustomOp op, std::string &problem) {
  return read(op.getRule().value_or(StringRef()), op.getReductionAttr(),
              op.getCombineAttr(), problem);
}

std::string CustomRule::whyNot(TypeRange inputs, TypeRange outputs) const {
  // "-> i" is the rule of an op without operands.
  bool hasNone = inputs.empty() && operands.size() == 1 && operands[0].empty();
  llvm::StringMap<int64_t> sizes;
  auto check = [&](ArrayRef<Dims> tensors, TypeRange types,
                   StringRef what) -> std::string {
    if (tensors.size() != types.size())
      return ("the rule has " + Twine(tensors.size()) + " " + what +
              "s, the op " + Twine(types.size()))
          .str();
    for (auto [i, dims, type] : llvm::enumerate(tensors, types)) {
      auto tensor = cast<RankedTensorType>(type);
      if (int64_t(dims.size()) != tensor.getRank())
        return ("the rule has " + Twine(dims.size()) + " dimensions of " +
                what + " #" + Twine(i) + ", the op " + Twine(tensor.getRank()))
            .str();
      for (auto [name, size] : llvm::zip_equal(dims, tensor.getShape())) {
        if (name == unsplitDim)
          continue;
        auto [known, isNew] = sizes.try_emplace(name, size);
        if (!isNew && known->second != size)
          return ("'" + name + "' of the rule stands for sizes " +
                  Twine(known->second) + " and " + Twine(size))
              .str();
      }
    }
    return "";
  };
  std::string why = hasNone ? "" : check(operands, inputs, "operand");
  return why.empty() ? check(results, outputs, "result") : why;
}

SmallVector<std::string> CustomRule::splitNames() const {
  SmallVector<std::string> names;
  for (const Dims &dims : operands)
    for (const std::string &name : dims) {
      bool inAllResults = llvm::all_of(results, [&](const Dims &result) {
        return llvm::is_contained(result, name);
      });
      if (name != unsplitDim && (inAllResults || reduces(name)) &&
          !llvm::is_contained(names, name))
        names.push_back(name);
    }
  return names;
}
