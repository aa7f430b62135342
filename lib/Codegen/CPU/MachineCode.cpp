//===- MachineCode.cpp - LLVM IR to code of a target ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineCode.h"
#include "LaneStores.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/InferFunctionAttrs.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"

using namespace mlir;

namespace {
/// LLVM's analyses for one machine, which passes run with.
class Analyses {
public:
  explicit Analyses(llvm::TargetMachine &machine) : builder(&machine) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(sccs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, sccs, modules);
  }

  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
};
} // namespace

void tp::target::optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  Analyses analyses(machine);
  analyses.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, analyses.modules);
}

static void simplify(llvm::FunctionPassManager &passes) {
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
}

static void hoistInvariants(llvm::FunctionPassManager &passes,
                            bool rotate = false) {
  llvm::LoopPassManager loops;
  if (rotate)
    loops.addPass(llvm::LoopRotatePass());
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops),
                                                       /*UseMemorySSA=*/true));
}

void tp::target::optimiseLoops(llvm::Module &module,
                               llvm::TargetMachine &machine) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  simplify(passes);
  passes.addPass(llvm::LoopSimplifyPass());
  hoistInvariants(passes, /*rotate=*/true);
  // A loop over a small window goes, so that the one around it is vectorised.
  llvm::LoopPassManager loops;
  loops.addPass(llvm::IndVarSimplifyPass());
  loops.addPass(llvm::LoopFullUnrollPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops)));
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  simplify(passes);
  hoistInvariants(passes);
  passes.addPass(llvm::LoopVectorizePass());
  passes.addPass(llvm::SLPVectorizerPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  hoistInvariants(passes);
  passes.addPass(
      llvm::LoopUnrollPass(llvm::LoopUnrollOptions().setPartial(false)));
  // Masks of loops that are gone are constants.
  passes.addPass(llvm::InstSimplifyPass());

  llvm::ModulePassManager all;
  // Of the functions of libm.
  all.addPass(llvm::InferFunctionAttrsPass());
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  Analyses analyses(machine);
  all.run(module, analyses.modules);
}

LogicalResult tp::target::writeCode(llvm::Module &module,
                                    llvm::TargetMachine &machine,
                                    llvm::CodeGenFileType type,
                                    SmallVectorImpl<char> &code) {
  expandLaneStores(module);
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return failure();
  passes.run(module);
  return success();
}
