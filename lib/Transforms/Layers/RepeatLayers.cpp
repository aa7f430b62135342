//===- RepeatLayers.cpp - tp-repeat-layers --------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerFolding.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/Entries.h"
#include "tp/IR/TP.h"
#include "tp/Transforms/Layers/LayersPasses.h"
#include "llvm/ADT/StringExtras.h"

namespace tp {
#define GEN_PASS_DEF_REPEATLAYERS
#include "tp/Transforms/Layers/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::layers;

static std::string textOf(Pass &pass) {
  std::string text;
  llvm::raw_string_ostream os(text);
  pass.printAsTextualPipeline(os);
  return text;
}

static std::string textOf(OpPassManager &manager) {
  return llvm::join(
      llvm::map_range(manager, [](Pass &pass) { return textOf(pass); }), ",");
}

namespace {
struct RepeatLayersPass : tp::impl::RepeatLayersBase<RepeatLayersPass> {
  using RepeatLayersBase::RepeatLayersBase;
  RepeatLayersPass(OpPassManager given, OpPassManager after)
      : manager(std::move(given)), furtherManager(std::move(after)) {
    // A pipeline that is printed shows its options.
    passes = textOf(manager);
    further = textOf(furtherManager);
  }
  RepeatLayersPass(const RepeatLayersPass &other)
      : RepeatLayersBase(other), manager(other.manager),
        furtherManager(other.furtherManager) {}

  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) override {
    return failure(
        failed(RepeatLayersBase::initializeOptions(options, errorHandler)) ||
        failed(parse(passes, manager, errorHandler)) ||
        failed(parse(further, furtherManager, errorHandler)));
  }

  static LogicalResult
  parse(const std::string &passes, OpPassManager &manager,
        function_ref<LogicalResult(const Twine &)> errorHandler) {
    std::string message;
    llvm::raw_string_ostream os(message);
    if (failed(parsePassPipeline(passes, manager, os)))
      return errorHandler(message);
    auto isNested = [](Pass &pass) {
      return StringRef(textOf(pass)).starts_with("builtin.module(");
    };
    if (llvm::none_of(manager, isNested))
      return success();
    // In the manager they would run on modules in the module, and not at all.
    if (manager.size() != 1)
      return errorHandler("expected builtin.module(...) around all passes, or "
                          "none of them, got '" +
                          Twine(passes) + "'\n");
    FailureOr<OpPassManager> anchored = parsePassPipeline(passes, os);
    if (failed(anchored))
      return errorHandler(message);
    manager = std::move(*anchored);
    return success();
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    manager.getDependentDialects(registry);
    furtherManager.getDependentDialects(registry);
  }

  void runOnOperation() override {
    if (!repeat() && failed(runPipeline(manager, getOperation())))
      signalPassFailure();
  }

private:
  bool repeat();
  enum class Outcome { Done, Failed, DoesNotRepeat };
  Outcome runOnFewLayers(ArrayRef<std::unique_ptr<RepeatedLayers>> layers,
                         int64_t keptAtEnd);

  bool unfoldFurther(ArrayRef<LayerFolding> folded, ModuleOp few);

  OpPassManager manager{ModuleOp::getOperationName()};
  OpPassManager furtherManager{ModuleOp::getOperationName()};
};
} // namespace

/// False, and the module unchanged, where that is not possible.
bool RepeatLayersPass::repeat() {
  std::vector<std::unique_ptr<RepeatedLayers>> layers;
  for (auto whole : getOperation().getOps<func::FuncOp>()) {
    if (!whole.getBody().hasOneBlock())
      return false;
    std::vector<Correspondence> seeds =
        RepeatedLayers::argumentCorrespondences(whole);
    if (seeds.empty())
      return false;
    layers.push_back(std::make_unique<RepeatedLayers>(whole, std::move(seeds)));
  }
  if (layers.empty())
    return false;
  // With two at an end those beside the place differ only where what an end
  // does reaches past its neighbour.
  for (int64_t keptAtEnd : {2, 3}) {
    Outcome outcome = runOnFewLayers(layers, keptAtEnd);
    if (outcome != Outcome::DoesNotRepeat)
      return outcome == Outcome::Done;
  }
  return false;
}

/// Whether what entries share has one layout. They may have left out different
/// layers, or repeated different ones.
static bool haveOneLayout(ArrayRef<func::FuncOp> entries) {
  SharedArguments shared(entries);
  return llvm::all_of(shared.tensors(), [&](ArrayRef<EntryArgument> tensor) {
    auto layoutOf = [&](EntryArgument each) {
      func::FuncOp entry = entries[each.entry];
      return entry.getArgAttr(each.argument, attr::layout);
    };
    return llvm::all_of(tensor, [&](EntryArgument each) {
      return layoutOf(each) == layoutOf(tensor.front());
    });
  });
}

/// Whether all functions of `few` have all layers again.
static bool unfoldAll(ArrayRef<LayerFolding> folded, ModuleOp few) {
  auto made = llvm::to_vector(few.getOps<func::FuncOp>());
  if (made.size() != folded.size())
    return false;
  for (auto [one, function] : llvm::zip_equal(folded, made))
    if (!one.unfold(function))
      return false;
  return haveOneLayout(made);
}

/// Gives `few` all layers again, as the further passes leave them. False, and
/// it is unchanged, where these fail or what they make does not repeat.
bool RepeatLayersPass::unfoldFurther(ArrayRef<LayerFolding> folded,
                                     ModuleOp few) {
  if (furtherManager.empty())
    return false;
  ModuleOp copy = few.clone();
  getOperation().push_back(copy);
  bool done = false;
  {
    // They run again where they failed.
    ScopedDiagnosticHandler silence(&getContext(),
                                    [](Diagnostic &) { return success(); });
    done =
        succeeded(runPipeline(furtherManager, copy)) && unfoldAll(folded, copy);
  }
  if (done) {
    few->setAttrs(copy->getAttrDictionary());
    few->setAttr(attr::onTensorsDone, UnitAttr::get(&getContext()));
    few.getBody()->clear();
    few.getBody()->getOperations().splice(few.getBody()->end(),
                                          copy.getBody()->getOperations());
  }
  copy.erase();
  return done;
}

/// Done, or the module is unchanged.
RepeatLayersPass::Outcome RepeatLayersPass::runOnFewLayers(
    ArrayRef<std::unique_ptr<RepeatedLayers>> layers, int64_t keptAtEnd) {
  ModuleOp module = getOperation();
  auto few = ModuleOp::create(module.getLoc());
  module.push_back(few);
  auto giveUp = [&](Outcome outcome) {
    few.erase();
    return outcome;
  };
  few->setAttrs(module->getAttrDictionary());
  std::vector<LayerFolding> folded;
  for (const auto &ofEntry : layers) {
    std::optional<LayerFolding> one =
        LayerFolding::fold(*ofEntry, keptAtEnd, few);
    if (!one)
      return giveUp(Outcome::DoesNotRepeat);
    folded.push_back(std::move(*one));
  }
  // Numbers of arguments and of ops are not those of the user's program, so
  // errors are told when the passes run on that.
  std::vector<Diagnostic> diagnostics;
  LogicalResult result = failure();
  {
    ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &diagnostic) {
      diagnostics.push_back(std::move(diagnostic));
      return success();
    });
    result = runPipeline(manager, few);
  }
  if (failed(result) ||
      size_t(llvm::range_size(few.getOps<func::FuncOp>())) != folded.size())
    return giveUp(Outcome::Failed);
  if (!unfoldFurther(folded, few) && !unfoldAll(folded, few))
    return giveUp(Outcome::DoesNotRepeat);
  for (Diagnostic &diagnostic : diagnostics)
    getContext().getDiagEngine().emit(std::move(diagnostic));
  for (auto [ofEntry, one] : llvm::zip_equal(layers, folded))
    if (report)
      emitRemark(ofEntry->function().getLoc())
          << one.copies() << " of " << one.numLayers()
          << " layers were left out";
  // Every op was verified after the last of the passes or is a copy of one that
  // was, of the same types: there is no need to verify them all again.
  markAllAnalysesPreserved();
  for (const auto &ofEntry : layers)
    ofEntry->function().erase();
  module->setAttrs(few->getAttrDictionary());
  module.getBody()->getOperations().splice(module.getBody()->end(),
                                           few.getBody()->getOperations());
  few.erase();
  return Outcome::Done;
}

std::unique_ptr<Pass> tp::createRepeatLayers(OpPassManager passes,
                                             OpPassManager further) {
  return std::make_unique<RepeatLayersPass>(std::move(passes),
                                            std::move(further));
}
