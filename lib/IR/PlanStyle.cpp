//===- PlanStyle.cpp - parallel styles and their options ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/PlanStyle.h"
#include "llvm/Support/ErrorHandling.h"

using namespace tp;

static constexpr StyleName names[] = {
    {"colwise", StyleKind::Colwise},
    {"rowwise", StyleKind::Rowwise},
    {"replicate", StyleKind::Replicate},
    {"sequence_parallel", StyleKind::SequenceParallel},
    {"prepare_module_input", StyleKind::PrepareModuleInput},
    {"prepare_module_output", StyleKind::PrepareModuleOutput},
    {"prepare_module_input_output", StyleKind::PrepareModuleInputOutput},
    {"all_reduce", StyleKind::AllReduce},
    {"local_params", StyleKind::LocalParams},
    {"moe_identity_expert", StyleKind::IdentityExpert},
    {"pairwise_parallel", StyleKind::Pairwise},
    {"pairwise_sequence_parallel", StyleKind::PairwiseSequence},
    {"transformer", StyleKind::Transformer},
    {"data_parallel", StyleKind::DataParallel},
    {"context_parallel", StyleKind::ContextParallel},
    {"expert_parallel", StyleKind::ExpertParallel},
    {"grouped_gemm", StyleKind::ExpertWeights},
    // torch's class names; those for replicate and context_parallel are tp's
    // own.
    {"ColwiseParallel", StyleKind::Colwise},
    {"RowwiseParallel", StyleKind::Rowwise},
    {"ReplicateParallel", StyleKind::Replicate},
    {"SequenceParallel", StyleKind::SequenceParallel},
    {"ContextParallel", StyleKind::ContextParallel},
    // torchtitan's.
    {"ExpertParallel", StyleKind::ExpertParallel},
    {"PrepareModuleInput", StyleKind::PrepareModuleInput},
    {"PrepareModuleOutput", StyleKind::PrepareModuleOutput},
    {"PrepareModuleInputOutput", StyleKind::PrepareModuleInputOutput},
    // Of torch's first release, whose SequenceParallel has another name here.
    {"PairwiseParallel", StyleKind::Pairwise},
    // Hugging Face's tp_plan.
    {"colwise_rep", StyleKind::Colwise, false, true},
    {"colwise_gather_output", StyleKind::Colwise, false, true},
    {"rowwise_rep", StyleKind::Rowwise, true, false},
    {"rowwise_split_input", StyleKind::Rowwise, true, false},
    {"embedding_rowwise", StyleKind::Rowwise, false, false, true},
    {"embedding_colwise", StyleKind::Colwise, false, false, true},
    // Where a fused weight is cut is found in the program (docs/propagate.md).
    {"packed_colwise", StyleKind::Colwise},
    {"packed_rowwise", StyleKind::Rowwise},
    // What sums gradients over the ranks is found in the program too.
    {"replicated_with_grad_allreduce", StyleKind::Replicate},
    {"mla_kv_a_proj", StyleKind::Replicate},
    {"moe_tp_experts", StyleKind::AllReduce},
    // Its plans for experts: of today, and of earlier releases.
    {"ep_dispatch_experts", StyleKind::ExpertParallel},
    {"ep_router", StyleKind::Replicate},
    {"gather", StyleKind::AllReduce},
};

llvm::ArrayRef<StyleName> tp::styleNames() { return names; }

const StyleName *tp::lookupStyle(llvm::StringRef name) {
  for (const StyleName &style : names)
    if (style.name == name)
      return &style;
  return nullptr;
}

llvm::StringRef tp::toString(StyleKind kind) {
  for (const StyleName &style : names)
    if (style.kind == kind)
      return style.name;
  llvm_unreachable("every style has a name");
}

std::optional<ParameterSharding> tp::parameterSharding(StyleKind kind) {
  switch (kind) {
  case StyleKind::Colwise:
    return ParameterSharding::Outputs;
  case StyleKind::Rowwise:
    return ParameterSharding::Inputs;
  case StyleKind::ExpertWeights:
    return ParameterSharding::Experts;
  case StyleKind::Replicate:
    return ParameterSharding::Nothing;
  case StyleKind::SequenceParallel:
  case StyleKind::PrepareModuleInput:
  case StyleKind::PrepareModuleOutput:
  case StyleKind::PrepareModuleInputOutput:
  case StyleKind::AllReduce:
  case StyleKind::LocalParams:
  case StyleKind::IdentityExpert:
  case StyleKind::Pairwise:
  case StyleKind::PairwiseSequence:
  case StyleKind::Transformer:
  case StyleKind::DataParallel:
  case StyleKind::ContextParallel:
  case StyleKind::ExpertParallel:
    return std::nullopt;
  }
  llvm_unreachable("every style is listed");
}

bool tp::isPlanWord(llvm::StringRef plan) {
  return plan == autoPlanName || plan == transformerPlanName ||
         (plan.consume_front(transformerPlanName) && plan.starts_with("{"));
}

static constexpr StyleOption parameterOptions[] = {
    {"input_layouts", OptionKind::Layouts},
    {"output_layouts", OptionKind::Layouts},
    {"use_local_output", OptionKind::Boolean},
    {"override", OptionKind::Boolean},
};
static constexpr StyleOption pairwiseOptions[] = {
    {"input_layouts", OptionKind::Layouts},
    {"output_layouts", OptionKind::Layouts},
    {"override", OptionKind::Boolean},
};
static constexpr StyleOption transformerOptions[] = {
    {"sequence_parallel", OptionKind::Boolean},
    {"loss_parallel", OptionKind::Boolean},
};
static constexpr StyleOption contextOptions[] = {
    {sequenceDimOption, OptionKind::Integer},
    {rotateOption, OptionKind::Rotation},
    {loadBalanceOption, OptionKind::Boolean},
};
static constexpr StyleOption expertOptions[] = {
    {"input_layouts", OptionKind::Layouts},
    {"output_layouts", OptionKind::Layouts},
    {"override", OptionKind::Boolean},
};
static constexpr StyleOption overrideOption[] = {
    {"override", OptionKind::Boolean},
};
static constexpr StyleOption sequenceOptions[] = {
    {"sequence_dim", OptionKind::Integer},
    {"use_local_output", OptionKind::Boolean},
    {"override", OptionKind::Boolean},
};
// Sorted so that the input options and the output options are both a run.
static constexpr StyleOption prepareOptions[] = {
    {"input_layouts", OptionKind::Layouts},
    {"desired_input_layouts", OptionKind::Layouts},
    {"input_kwarg_layouts", OptionKind::KeywordLayouts},
    {"desired_input_kwarg_layouts", OptionKind::KeywordLayouts},
    {"use_local_input", OptionKind::Boolean},
    {"use_local_output", OptionKind::Boolean},
    {"override", OptionKind::Boolean},
    {"output_layouts", OptionKind::Layouts},
    {"desired_output_layouts", OptionKind::Layouts},
};

// torch's first release names the layouts at a module's boundary by functions.
static constexpr LayoutName layouts[] = {
    {"make_input_replicate_1d", PlacementKind::Replicate},
    {"make_input_reshard_replicate", PlacementKind::Shard},
    {"make_input_shard_1d", PlacementKind::Shard, 0, true},
    {"make_input_shard_1d_last_dim", PlacementKind::Shard, -1},
    {"make_output_replicate_1d", PlacementKind::Replicate},
    {"make_output_reshard_tensor", PlacementKind::Shard},
    {"make_output_shard_1d", PlacementKind::Shard, 0, true},
    {"make_output_tensor", PlacementKind::Replicate},
};

llvm::ArrayRef<LayoutName> tp::layoutNames() { return layouts; }

llvm::ArrayRef<StyleOption> tp::styleOptions(StyleKind kind) {
  llvm::ArrayRef<StyleOption> prepare(prepareOptions);
  switch (kind) {
  case StyleKind::Colwise:
  case StyleKind::Rowwise:
    return parameterOptions;
  case StyleKind::Replicate:
  case StyleKind::AllReduce:
  case StyleKind::LocalParams:
  case StyleKind::IdentityExpert:
  case StyleKind::ExpertWeights:
    return overrideOption;
  case StyleKind::ExpertParallel:
    return expertOptions;
  case StyleKind::Pairwise:
  case StyleKind::PairwiseSequence:
    return pairwiseOptions;
  case StyleKind::Transformer:
    return transformerOptions;
  case StyleKind::DataParallel:
    return {};
  case StyleKind::ContextParallel:
    return contextOptions;
  case StyleKind::SequenceParallel:
    return sequenceOptions;
  case StyleKind::PrepareModuleInput:
    return prepare.drop_back(2);
  case StyleKind::PrepareModuleOutput:
    return prepare.drop_front(5);
  case StyleKind::PrepareModuleInputOutput:
    return prepare;
  }
  llvm_unreachable("every style has options");
}
