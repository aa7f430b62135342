//===- Compile.cpp - from files to an artifact ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Pipelines/Compile.h"
#include "CheaperPlans.h"
#include "IdleRanks.h"
#include "Memory/MemoryChoices.h"
#include "Memory/MemoryLimit.h"
#include "OwnPlan.h"
#include "PlanTrials.h"
#include "RankStages.h"
#include "StyleDefaults.h"
#include "Verify/Verification.h"
#include "Weights/UnnamedWeights.h"
#include "WrittenPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/Codegen/CPU/CompileForCPU.h"
#include "tp/Codegen/CUDA/CompileForCUDA.h"
#include "tp/Codegen/WeightStorage.h"
#include "tp/Files/OutputText.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/ParseSource.h"
#include "tp/IR/PlanStyle.h"
#include "tp/IR/TP.h"
#include "tp/Pipelines/Explanation.h"
#include "tp/Pipelines/Report.h"
#include "tp/Pipelines/ReportDifference.h"
#include "tp/Transforms/Import/ImportPasses.h"
#include "tp/Transforms/Normalize/NormalizePasses.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace tp;

namespace {
class Compilation {
public:
  Compilation(MLIRContext &context, const CompileOptions &options)
      : context(context), options(options),
        location(FileLineColLoc::get(&context, options.model, 0, 0)) {}

  /// With `keepReport` makes a report whether the options ask for one or not.
  LogicalResult run(bool keepReport = false) {
    if (failed(checkWritten()) || failed(readHardware()) ||
        failed(readMemoryLimit()) || failed(readAttentionMemory()) ||
        (!options.weightStorage.empty() &&
         failed(checkWeightStorage(location, options.weightStorage,
                                   options.target))) ||
        (options.target == "cuda" &&
         failed(checkChips(location, options.chips))))
      return failure();
    // Outside a pass manager nobody loads what code generation creates.
    DialectRegistry created;
    registerCUDATargetDialects(created);
    for (StringRef dialect : created.getDialectNames())
      context.getOrLoadDialect(dialect);
    module = parseSource(options.model, "the model", &context);
    if (!module || failed(dump("input")))
      return failure();
    target::forgetStagesRun(*module);
    hasImportedPlan = hasShardAnnotations(*module);
    if (hasImportedPlan &&
        (failed(importAnnotations(*module, options, location)) ||
         failed(dump("import-shard"))))
      return failure();
    hasOwnPins = options.partition.plan.empty() &&
                 (*module)->hasAttr(attr::mesh) &&
                 options.partition.mesh.empty();
    bool hasPlan =
        !options.partition.plan.empty() || !module->getOps<PlanOp>().empty();
    if (!hasPlan && failed(checkWithoutPlan(options, location)))
      return failure();
    bool isForOneRank = !hasPlan && !hasOwnPins;
    if (failed(isForOneRank ? normalizeAlone() : partition()) ||
        failed(run(weightStages(options))) ||
        (memoryLimit &&
         failed(checkMemoryLimit(location, *module, *memoryLimit,
                                 options.target == "cuda" ? &cuda : nullptr))))
      return failure();
    if (options.verify)
      verification.print(llvm::errs());
    if (options.compare.empty() && options.whatIf.empty() && !keepReport)
      warnOfReplicas(*module, location);
    bool wantsReport = keepReport || !options.report.empty() ||
                       !options.explain.empty() ||
                       (!options.output.empty() && hardware.memoryBytes);
    if (options.output.empty() && !wantsReport && !options.noUnnamedWeights)
      return success();
    Attribute bindings = (*module)->getAttr(attr::bindings);
    if (failed(compileForTarget()))
      return failure();
    if (options.noUnnamedWeights &&
        failed(forbidUnnamedWeights(bindings, compiled.manifest, location)))
      return failure();
    warnOfIdleRanks(compiled.manifest, location);
    if (options.partition.noImplicitCollectives && !keepReport)
      remarkUnnamedWeights(bindings, compiled.manifest, location);
    if (wantsReport) {
      report = makeReport(bindings, compiled, hardware);
      if (!memoryLimit)
        warnOfMemory(location, compiled.manifest, hardware);
      if (!options.explain.empty() && model) {
        PlanTrials trials(*model, trialOptions);
        tryAdvice(*report, trials);
        PlanTrials others(*model, trialOptions);
        otherPlans = adviseCheaper(*report, others);
        markDefaults(*report, others);
      }
      if (failed(writeReport()) || failed(explain()))
        return failure();
    }
    // Last: where there is an artifact, all that was asked for is there.
    return writeArtifact();
  }

  /// Prints what is different in the other's report. If nothing is, which
  /// changes of the plan's entries would make a difference.
  LogicalResult printDifference(const Compilation &other) {
    return write("-", [&](raw_ostream &os) {
      if (writeDifference(*report, *other.report, os) ||
          options.whatIf.empty() || !model)
        return;
      PlanTrials trials(*model, trialOptions);
      CheaperPlans plans(trials);
      plans.search(CheaperPlans::neighbours(trials.places()));
      if (std::string tried = plans.summary(); !tried.empty())
        os << tried << "\n";
    });
  }

private:
  /// The target goes on from the stages that --dump-stages shows.
  LogicalResult showProgram() {
    return options.dumpStages.empty()
               ? success()
               : run(rankStages(options.target, cuda.scoreBytes));
  }

  LogicalResult run(std::vector<RankStage> stages) {
    for (RankStage &stage : stages)
      if (failed(run(std::move(stage.pass), stage.name)))
        return failure();
    return success();
  }

  LogicalResult run(std::unique_ptr<Pass> pass, StringRef stage = "") {
    PassManager manager(&context);
    manager.addPass(std::move(pass));
    return failure(failed(manager.run(*module)) ||
                   (!stage.empty() && failed(dump(stage))));
  }

  LogicalResult compileForTarget() {
    if (failed(showProgram()))
      return failure();
    CPUOptions cpu;
    cpu.targetCPU = options.targetCPU;
    FailureOr<CompiledManifest> made =
        options.target == "cuda" ? compileForCUDA(*module, cuda, artifact)
                                 : compileForCPU(*module, cpu, artifact);
    if (failed(made))
      return failure();
    compiled = std::move(*made);
    return success();
  }

  LogicalResult readAttentionMemory() {
    cuda.chips = options.chips;
    cuda.tf32 = options.tf32;
    if (options.attentionMemory.empty())
      return success();
    FailureOr<int64_t> bytes =
        parseBytes(location, options.attentionMemory, "an attention memory");
    if (succeeded(bytes))
      cuda.scoreBytes = *bytes;
    return bytes;
  }

  LogicalResult readHardware() {
    SourceProblem problem;
    StringRef given = options.partition.hardware;
    std::optional<Hardware> found = tp::readHardware(given, problem);
    if (!found)
      return emitError(FileLineColLoc::get(&context, given, problem.line,
                                           problem.column))
             << problem.message;
    hardware = std::move(*found);
    return success();
  }

  /// Every file that the options write must be one that can be written, and
  /// not one that is read or written too.
  LogicalResult checkWritten() {
    std::vector<std::string> read, written;
    for (StringRef path :
         {StringRef(options.model), StringRef(options.partition.plan),
          StringRef(options.compare), StringRef(options.partition.hardware)})
      if (!path.empty() && path != "-" && !isPlanWord(path))
        read.push_back(path.str());
    for (StringRef path :
         {StringRef(options.output), StringRef(options.report),
          StringRef(options.explain), writtenPlanFile(options.writePlan)})
      if (!path.empty() && path != "-")
        written.push_back(path.str());
    runtime::Status status = runtime::checkOutputs(written, read);
    // The folder of stages may hold any of these files.
    llvm::append_range(read, written);
    for (const std::string &path : stageFiles())
      if (status.ok() && llvm::sys::fs::exists(options.dumpStages))
        status = runtime::checkOutputs({path}, read);
    return check(status);
  }

  /// What --dump-stages may write.
  std::vector<std::string> stageFiles() const {
    std::vector<std::string> files;
    if (options.dumpStages.empty())
      return files;
    SmallVector<StringRef> names = {"input", "import-shard", "normalize",
                                    "store-weights", "merge-gemms"};
    for (const PipelineStage &stage : partitionStages())
      names.push_back(stage.name);
    for (const RankStage &stage : rankStages(options.target, cuda.scoreBytes))
      names.push_back(stage.name);
    for (StringRef name : names)
      for (size_t number = 0; number < names.size(); ++number)
        files.push_back(stageFile(number, name));
    return files;
  }

  std::string stageFile(unsigned number, StringRef stage) const {
    return options.dumpStages + "/" + std::to_string(number) + "-" +
           stage.str() + ".mlir";
  }

  LogicalResult readMemoryLimit() {
    bool isAuto = options.partition.plan == "auto";
    memoryLimit = isAuto ? hardware.memoryBytes : std::nullopt;
    if (options.memoryLimit.empty())
      return success();
    auto bytes = parseBytes(location, options.memoryLimit, "a memory limit");
    if (succeeded(bytes))
      memoryLimit = *bytes;
    return bytes;
  }

  LogicalResult partition() {
    PartitionOptions partition = options.partition;
    partition.hasOwnPins = hasOwnPins;
    if (hasImportedPlan)
      partition.plan.clear();
    if (failed(expandedPlan.replacePlan(*module, partition)))
      return failure();
    if (!options.writePlan.empty() || !options.explain.empty() ||
        !options.whatIf.empty() || partition.noImplicitCollectives)
      model = module->clone();
    if (!hasOwnPins && (memoryLimit || !options.explain.empty()))
      memoryFront = chooseMemory(*module, partition, memoryLimit,
                                 !options.explain.empty(), location);
    trialOptions = partition;
    if (failed(remarkingCheaper(model ? *model : ModuleOp(), partition,
                                [&] { return runStages(partition); })))
      return failure();
    if (options.writePlan.empty())
      return success();
    FailureOr<std::string> text =
        writtenPlan(*model, *module, partition, options.writePlan, location);
    return failure(failed(text) ||
                   failed(write(writtenPlanFile(options.writePlan),
                                [&](raw_ostream &os) { os << *text; })));
  }

  LogicalResult runStages(const PartitionOptions &partition) {
    if (options.dumpStages.empty() && !options.verify) {
      PartitionOptions both = partition;
      if (weightStages(options).empty())
        both.backEnd = {options.target, cuda.scoreBytes};
      return runPartitionPipeline(*module, both);
    }
    for (const PipelineStage &stage : partitionStages()) {
      if (hasOwnPins && stage.name == "apply-plan")
        continue;
      PassManager manager(&context);
      stage.build(manager, partition);
      if (failed(manager.run(*module)) || failed(dump(stage.name)) ||
          (options.verify && failed(verification.check(*module, stage.name))))
        return failure();
    }
    return success();
  }

  /// One rank runs the whole program.
  LogicalResult normalizeAlone() {
    if (!options.partition.mesh.empty())
      return emitError(location)
             << "--mesh sets the sizes of a plan's axes, expected --plan too";
    PassManager legalize(&context);
    partitionStages().front().build(legalize, options.partition);
    return failure(failed(legalize.run(*module)) ||
                   failed(run(createNormalize(), "normalize")));
  }

  LogicalResult dump(StringRef stage) {
    if (options.dumpStages.empty())
      return success();
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpStages))
      return emitError(location)
             << "cannot create folder '" << options.dumpStages
             << "': " << error.message();
    OwningOpRef<ModuleOp> readable;
    if (!options.dumpDetails) {
      readable = module->clone();
      removeCauses(*readable);
      readable->walk([](Operation *op) { op->removeAttr(attr::values); });
    }
    return write(stageFile(numDumped++, stage), [&](raw_ostream &os) {
      OpPrintingFlags flags;
      flags.enableDebugInfo(options.dumpDetails);
      (readable ? *readable : *module)->print(os, flags);
      os << "\n";
    });
  }

  LogicalResult write(StringRef path,
                      llvm::function_ref<void(raw_ostream &)> fill) {
    std::string text;
    llvm::raw_string_ostream os(text);
    fill(os);
    return check(writeOutputText(path, text));
  }

  LogicalResult check(const runtime::Status &status) {
    return status.ok() ? success()
                       : LogicalResult(emitError(location) << status.message());
  }

  LogicalResult writeArtifact() {
    if (options.output.empty())
      return success();
    std::string bytes;
    runtime::Status status = artifact.serialize(bytes);
    if (status.ok())
      status = writeOutputText(options.output, bytes);
    return check(status);
  }

  LogicalResult writeReport() {
    StringRef path = options.report;
    if (path.empty())
      return success();
    return write(path, [&](raw_ostream &os) {
      if (path.ends_with(".json"))
        os << llvm::formatv("{0:2}\n",
                            llvm::json::Value(llvm::json::Object(*report)));
      else if (path.ends_with(".html"))
        writeReportHTML(*report, os);
      else
        writeReportText(*report, os);
    });
  }

  LogicalResult explain() {
    StringRef path = options.explain;
    if (path.empty())
      return success();
    llvm::json::Object explanation = makeExplanation(*report);
    if (!otherPlans.empty())
      explanation["other_plans"] = otherPlans;
    if (memoryFront.size() > 1)
      explanation["memory"] = llvm::json::Array(memoryFront);
    return write(path, [&](raw_ostream &os) {
      if (path.ends_with(".json"))
        os << llvm::formatv("{0:2}\n",
                            llvm::json::Value(std::move(explanation)));
      else
        writeExplanationText(explanation, os);
    });
  }

  MLIRContext &context;
  const CompileOptions &options;
  Location location;
  Hardware hardware;
  runtime::ArtifactWriter artifact;
  CompiledManifest compiled;
  std::optional<llvm::json::Object> report;
  OwningOpRef<ModuleOp> module;
  /// The program before all stages, and what they ran with.
  OwningOpRef<ModuleOp> model;
  PartitionOptions trialOptions;
  ExpandedPlanFile expandedPlan;
  std::string otherPlans; ///< What changed plans send.
  llvm::json::Array memoryFront;
  Verification verification{options.verifySeed};
  std::optional<int64_t> memoryLimit;
  CUDAOptions cuda;
  unsigned numDumped = 0;
  /// The model is a program after tp-apply-plan.
  bool hasOwnPins = false;
  /// The plan is in the module, made from annotations of the dialect `shard`.
  bool hasImportedPlan = false;
};
} // namespace

LogicalResult tp::compile(MLIRContext &context, const CompileOptions &options) {
  Compilation compilation(context, options);
  if (options.compare.empty() && options.whatIf.empty())
    return compilation.run();
  // The same program, of which nothing is checked or written.
  CompileOptions other;
  static_cast<ProgramOptions &>(other) = options;
  other.partition.explain = other.partition.remarks = false;
  if (!options.compare.empty())
    other.partition.plan = options.compare;
  other.partition.whatIf = options.whatIf;
  // First, as it writes nothing.
  Compilation otherwise(context, other);
  return success(succeeded(otherwise.run(/*keepReport=*/true)) &&
                 succeeded(compilation.run(/*keepReport=*/true)) &&
                 succeeded(compilation.printDifference(otherwise)));
}
