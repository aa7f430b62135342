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
    // torch's class names; the one for replicate is tp's own.
    {"ColwiseParallel", StyleKind::Colwise},
    {"RowwiseParallel", StyleKind::Rowwise},
    {"ReplicateParallel", StyleKind::Replicate},
    {"SequenceParallel", StyleKind::SequenceParallel},
    {"PrepareModuleInput", StyleKind::PrepareModuleInput},
    {"PrepareModuleOutput", StyleKind::PrepareModuleOutput},
    {"PrepareModuleInputOutput", StyleKind::PrepareModuleInputOutput},
    // Hugging Face's tp_plan.
    {"colwise_rep", StyleKind::Colwise, false, true},
    {"colwise_gather_output", StyleKind::Colwise, false, true},
    {"rowwise_rep", StyleKind::Rowwise, true, false},
    {"rowwise_split_input", StyleKind::Rowwise, true, false},
    {"embedding_rowwise", StyleKind::Rowwise},
    {"embedding_colwise", StyleKind::Colwise},
    {"replicated_with_grad_allreduce", StyleKind::Replicate},
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

static constexpr StyleOption parameterOptions[] = {
    {"input_layouts", OptionKind::Layouts},
    {"output_layouts", OptionKind::Layouts},
    {"use_local_output", OptionKind::Boolean},
    {"override", OptionKind::Boolean},
};
static constexpr StyleOption replicateOptions[] = {
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

llvm::ArrayRef<StyleOption> tp::styleOptions(StyleKind kind) {
  llvm::ArrayRef<StyleOption> prepare(prepareOptions);
  switch (kind) {
  case StyleKind::Colwise:
  case StyleKind::Rowwise:
    return parameterOptions;
  case StyleKind::Replicate:
    return replicateOptions;
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
