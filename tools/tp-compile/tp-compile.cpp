//===- tp-compile.cpp - compiles a model and a plan to an artifact --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "tp/Files/SourceText.h"
#include "tp/Pipelines/Compile.h"
#include "tp/Pipelines/DiagnosticPrinter.h"
#include "tp/Runtime/Linked/LinkedOps.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>

namespace cl = llvm::cl;

/// Every option sets its place in these; the default is what stands there.
static tp::CompileOptions options;
template <typename T> using Option = cl::opt<T, /*ExternalStorage=*/true>;

static cl::OptionCategory category("tp-compile options");
static Option<std::string> model(cl::Positional, cl::Required,
                                 cl::desc("<model.mlir>"),
                                 cl::location(options.model),
                                 cl::cat(category));
static Option<std::string> plan("plan", cl::value_desc("file"),
                                cl::desc("the parallelize plan; auto: tp "
                                         "chooses all layouts; transformer: "
                                         "Megatron's"),
                                cl::location(options.partition.plan),
                                cl::cat(category));
static Option<std::string> mesh("mesh", cl::value_desc("axis=size,..."),
                                cl::desc("sizes that override the plan's"),
                                cl::location(options.partition.mesh),
                                cl::cat(category));
static cl::list<std::string>
    links("link", cl::value_desc("library"),
          cl::desc("with --verify: a shared object with functions that compute "
                   "ops of other dialects"),
          cl::cat(category));
static Option<std::string>
    writePlan("write-plan", cl::value_desc("file"),
              cl::desc("the plan with what tp chose; - prints it, torch:FILE "
                       "is Python for PyTorch"),
              cl::location(options.writePlan), cl::cat(category));
static Option<std::string>
    memoryLimit("memory-limit", cl::value_desc("bytes"),
                cl::desc("the most that a rank may hold: 1000, 80GB, 16GiB"),
                cl::location(options.memoryLimit), cl::cat(category));
static Option<std::string> target("target", cl::value_desc("cpu|cuda"),
                                  cl::desc("what to compile for"),
                                  cl::location(options.target),
                                  cl::cat(category));
static cl::list<std::string>
    chips("chip", cl::CommaSeparated, cl::value_desc("name,..."),
          cl::desc("GPUs that --target=cuda makes code for: sm_80, sm_90 (if "
                   "none is given), sm_100; host: this machine, for tests"),
          cl::cat(category));
static Option<bool>
    tf32("tf32",
         cl::desc("let products of f32 round their operands to tf32, which "
                  "GPUs multiply faster: 10 bits of 23 are kept"),
         cl::location(options.tf32), cl::cat(category));
static Option<bool>
    mergeGemms("merge-gemms",
               cl::desc("makes one product of those that read one matrix, "
                        "over weights that lie in one memory"),
               cl::location(options.mergeGemms), cl::cat(category));
static Option<std::string>
    weightStorage("weight-storage", cl::value_desc("f16|bf16"),
                  cl::desc("of --target=cpu: parameters of f32 with two "
                           "dimensions or more are rounded to this type when "
                           "they are loaded; computed is in f32"),
                  cl::location(options.weightStorage), cl::cat(category));
static Option<std::string> attentionMemory(
    "attention-memory", cl::value_desc("bytes"),
    cl::desc("of --target=cuda: what the scores of one step of an attention "
             "may take, 64MiB if not given"),
    cl::location(options.attentionMemory), cl::cat(category));
static Option<std::string>
    targetCPU("target-cpu", cl::value_desc("name"),
              cl::desc("LLVM name of the processor, or native"),
              cl::location(options.targetCPU), cl::cat(category));
static Option<std::string> output("o", cl::value_desc("file"),
                                  cl::desc("the artifact"),
                                  cl::location(options.output),
                                  cl::cat(category));
static Option<std::string>
    report("report", cl::value_desc("file"),
           cl::desc("what was bound and what is communicated: .json, .html, "
                    "otherwise text; - prints it"),
           cl::location(options.report), cl::cat(category));
static Option<std::string> explain(
    "explain", cl::value_desc("file"),
    cl::desc("why every collective is there and what else could be done: "
             ".json, otherwise text; - prints it"),
    cl::location(options.explain), cl::cat(category));
static Option<bool>
    remarks("remarks",
            cl::desc("tells why layouts change where they do, as remarks"),
            cl::location(options.partition.remarks), cl::cat(category));
static Option<std::string>
    compare("compare", cl::value_desc("file"),
            cl::desc("prints what is different under this plan"),
            cl::location(options.compare), cl::cat(category));
static Option<std::string>
    whatIf("what-if", cl::value_desc("value=layout"),
           cl::desc("prints what is different if this argument, result or "
                    "module output is pinned to this layout"),
           cl::location(options.whatIf), cl::cat(category));
static Option<std::string> hardware(
    "hardware", cl::value_desc("file|name"),
    cl::desc("the machine that costs are for: a .json file or a100, cpu, "
             "default, h100, h200"),
    cl::location(options.partition.hardware), cl::cat(category));
static Option<std::string>
    objective("objective", cl::value_desc("communication|time"),
              cl::desc("what layouts are chosen by: bytes sent, or time"),
              cl::location(options.partition.objective), cl::cat(category));
static Option<std::string>
    dumpStages("dump-stages", cl::value_desc("folder"),
               cl::desc("writes the program after every stage"),
               cl::location(options.dumpStages), cl::cat(category));
static Option<bool> dumpDetails(
    "dump-details",
    cl::desc("with --dump-stages: locations and numbers of values too, from "
             "which tp-opt makes the same artifact"),
    cl::location(options.dumpDetails), cl::cat(category));
static Option<bool>
    verify("verify",
           cl::desc("simulates all ranks on random data after every "
                    "stage; without -o nothing else is done"),
           cl::location(options.verify), cl::cat(category));
static Option<bool> strict("strict",
                           cl::desc("a plan entry without effect is an error"),
                           cl::location(options.partition.strict),
                           cl::cat(category));
static Option<bool> noImplicitCollectives(
    "no-implicit-collectives",
    cl::desc("a collective that no plan entry asks for is an error"),
    cl::location(options.partition.noImplicitCollectives), cl::cat(category));
static Option<bool> noUnnamedWeights(
    "no-unnamed-weights",
    cl::desc("a weight that no plan entry names and that is whole on every "
             "rank is an error"),
    cl::location(options.noUnnamedWeights), cl::cat(category));
static Option<bool> replicateUnknown(
    "replicate-unknown",
    cl::desc("every rank does all of an op that has no sharding rule, with a "
             "remark, instead of an error"),
    cl::location(options.partition.replicateUnknown), cl::cat(category));
static cl::opt<int64_t> unrollLimit(
    "unroll-limit", cl::value_desc("ops"),
    cl::desc("of --target=cpu: a loop of which unrolling would make more ops "
             "is kept; 500 if not given"),
    cl::init(500), cl::cat(category));
static Option<unsigned> verifySeed("verify-seed",
                                   cl::desc("seed of --verify's data"),
                                   cl::location(options.verifySeed),
                                   cl::cat(category));

namespace {
/// A location may name any file; a diagnostic shows a line of it.
struct RegularFiles : llvm::vfs::ProxyFileSystem {
  RegularFiles() : ProxyFileSystem(llvm::vfs::getRealFileSystem()) {}
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>>
  openFileForRead(const llvm::Twine &path) override {
    llvm::ErrorOr<llvm::vfs::Status> found = status(path);
    if (!found)
      return found.getError();
    if (!found->isRegularFile())
      return std::make_error_code(std::errc::invalid_argument);
    return ProxyFileSystem::openFileForRead(path);
  }
};
} // namespace

int main(int argc, char **argv) {
  // A reader of the standard output may have seen enough: the rest is written.
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  std::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow is an error of writing.
  std::signal(SIGXFSZ, SIG_IGN);
  cl::SetVersionPrinter(tp::printVersion);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv, "compiles a model and a parallelize plan to an artifact\n");
  if (options.target != "cpu" && options.target != "cuda") {
    llvm::errs() << "error: --target=" << options.target
                 << " is not supported, expected cpu or cuda\n";
    return 1;
  }
  if (options.target == "cpu" && (!chips.empty() || options.tf32)) {
    llvm::errs() << "error: " << (options.tf32 ? "--tf32" : "--chip")
                 << " is of --target=cuda\n";
    return 1;
  }
  if (options.target == "cpu" && attentionMemory.getNumOccurrences()) {
    llvm::errs() << "error: --attention-memory is of --target=cuda\n";
    return 1;
  }
  if (weightStorage.getNumOccurrences() && options.weightStorage.empty()) {
    llvm::errs() << "error: --weight-storage: expected f16 or bf16\n";
    return 1;
  }
  if (options.target == "cuda" && unrollLimit.getNumOccurrences()) {
    llvm::errs() << "error: --unroll-limit is of --target=cpu\n";
    return 1;
  }
  if (unrollLimit < 0) {
    llvm::errs() << "error: --unroll-limit: expected a number of ops, got "
                 << unrollLimit << "\n";
    return 1;
  }
  // A plan is written for one function.
  if (options.target == "cpu" && options.writePlan.empty())
    options.partition.unrollLimit = unrollLimit;
  if (options.target == "cuda" && targetCPU.getNumOccurrences()) {
    llvm::errs() << "error: --target-cpu is of --target=cpu, expected --chip\n";
    return 1;
  }
  if (options.output.empty() && !options.verify && options.report.empty() &&
      options.explain.empty() && options.compare.empty() &&
      options.whatIf.empty() && options.writePlan.empty() &&
      options.dumpStages.empty()) {
    llvm::errs() << "error: nothing to do, expected -o, --verify, --report, "
                    "--explain, --compare, --what-if, --write-plan or "
                    "--dump-stages\n";
    return 1;
  }
  if (!links.empty() && !options.verify) {
    llvm::errs() << "error: --link is for --verify, which calls the functions; "
                    "artifacts get them from tp-run --link\n";
    return 1;
  }
  if (options.dumpDetails && options.dumpStages.empty()) {
    llvm::errs() << "error: --dump-details says what --dump-stages writes, "
                    "expected --dump-stages too\n";
    return 1;
  }
  if (!options.compare.empty() && !options.whatIf.empty()) {
    llvm::errs() << "error: --compare and --what-if both say what to compare "
                    "with, expected one of them\n";
    return 1;
  }

  mlir::DialectRegistry registry;
  tp::registerCompileDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // Ops of dialects that tp does not know: a tp.rule says how they are split.
  context.allowUnregisteredDialects();
  for (const std::string &library : links)
    if (tp::runtime::Status status = tp::runtime::linkLibrary(library);
        !status.ok()) {
      llvm::errs() << "error: --link: " << status.message() << "\n";
      return 1;
    }
  // Users know their model by its names, not by tp's form of it.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  sources.setVirtualFileSystem(llvm::makeIntrusiveRefCnt<RegularFiles>());
  tp::DiagnosticPrinter printer(sources, &context);

  options.partition.explain = !options.explain.empty();
  if (!chips.empty())
    options.chips.assign(chips.begin(), chips.end());
  int status = tp::runOnLargeStack(
      [&] { return succeeded(tp::compile(context, options)) ? 0 : 1; });
  // The context may be what a crash of a parser left of it.
  llvm::sys::Process::Exit(status, /*NoCleanup=*/true);
}
