//===- PlanStyle.h - parallel styles and their options ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_PLANSTYLE_H
#define TP_IR_PLANSTYLE_H

#include "tp/Sharding/Layout.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace tp {

enum class StyleKind {
  Colwise,
  Rowwise,
  Replicate,
  SequenceParallel,
  PrepareModuleInput,
  PrepareModuleOutput,
  PrepareModuleInputOutput,
  AllReduce,
  LocalParams,
  IdentityExpert,
  Pairwise,
  PairwiseSequence,
  Transformer,
  DataParallel,
  ContextParallel,
  ExpertParallel,
  ExpertWeights,
};

/// A name a plan may use for a style, and the layouts the name itself asks for
/// at the outer side of the module (Hugging Face's `colwise_rep` is colwise
/// with a replicated output).
struct StyleName {
  llvm::StringLiteral name;
  StyleKind kind;
  bool replicatedInput = false;
  bool replicatedOutput = false;
  /// Of a parameter with this name it is the rows or columns of a table.
  bool ofTable = false;
};

/// Null where no style has this name.
const StyleName *lookupStyle(llvm::StringRef name);
/// Every accepted name, the dialect's own spelling of a style before aliases.
llvm::ArrayRef<StyleName> styleNames();
/// The dialect's own spelling.
llvm::StringRef toString(StyleKind kind);

enum class OptionKind { Layouts, KeywordLayouts, Boolean, Integer, Rotation };

struct StyleOption {
  llvm::StringLiteral name;
  OptionKind kind;
};

/// The options a style takes.
llvm::ArrayRef<StyleOption> styleOptions(StyleKind kind);

/// What a style that binds parameters shards of a weight: what it makes, what
/// it takes, its experts, or nothing.
enum class ParameterSharding { Outputs, Inputs, Experts, Nothing };

/// None for a style that is for modules alone.
std::optional<ParameterSharding> parameterSharding(StyleKind kind);

inline bool bindsParameters(StyleKind kind) {
  return parameterSharding(kind).has_value();
}

/// A style that stands for colwise and rowwise in turn on the linear layers of
/// a module.
inline bool isPairwise(StyleKind kind) {
  return kind == StyleKind::Pairwise || kind == StyleKind::PairwiseSequence;
}

/// A style that stands for the entries of a whole model.
inline bool isOfModel(StyleKind kind) {
  return kind == StyleKind::Transformer || kind == StyleKind::DataParallel;
}

/// The options of `context_parallel`. `rotate` says how keys and values come to
/// the queries of a rank: all at once, or one rank's after another's.
inline constexpr llvm::StringLiteral sequenceDimOption = "sequence_dim",
                                     rotateOption = "rotate",
                                     loadBalanceOption = "load_balance";
inline constexpr llvm::StringLiteral rotateByGather = "gather",
                                     rotateInRing = "ring";

/// Whether the text is no file but a plan that tp makes: `auto`, or
/// `transformer` with options in braces.
bool isPlanWord(llvm::StringRef plan);
inline constexpr llvm::StringLiteral autoPlanName = "auto";
inline constexpr llvm::StringLiteral transformerPlanName = "transformer";
/// The axes of `transformer`: blocks are split over the first, the batch over
/// the second.
inline constexpr llvm::StringLiteral transformerAxis = "tp", batchAxis = "dp";

/// The layout that a function of torch's first release stands for, which
/// prepares an input or an output; `dim` is its argument where it takes one.
struct LayoutName {
  llvm::StringLiteral name;
  PlacementKind kind;
  int64_t dim = 0;
  bool takesDim = false;
};
llvm::ArrayRef<LayoutName> layoutNames();
/// The function that hands on what the module makes.
inline constexpr llvm::StringLiteral layoutAsMade =
    "make_sharded_output_tensor";

/// On a tp.plan: nothing is done where the mesh has no such axis.
inline constexpr llvm::StringLiteral optionalPlan = "optional";

} // namespace tp

#endif // TP_IR_PLANSTYLE_H
