//===- PlanFile.cpp - reads a plan ----------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFile.h"
#include "Axes/SplitPlans.h"
#include "mlir/IR/Builders.h"
#include "tp/IR/ParseSource.h"
#include "tp/IR/PlanStyle.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace tp;

/// Where errors of the sizes that an option gives stand: it is no file.
static Location meshOption(MLIRContext *context) {
  return FileLineColLoc::get(context, "--mesh", 1, 1);
}

/// `mesh` with the sizes of `text` ("axis=size,..."). Axes are neither added
/// nor reordered. `plan` is where the mesh is.
static FailureOr<MeshAttr> resize(MeshAttr mesh, StringRef text,
                                  Location plan) {
  Location loc = meshOption(mesh.getContext());
  Mesh result = mesh.getValue();
  SmallVector<StringRef> items;
  if (!text.empty())
    text.split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/true);
  llvm::SmallDenseSet<unsigned> seen;
  for (StringRef item : items) {
    auto [name, sizeText] = item.split('=');
    int64_t size;
    if (name.trim().empty() || sizeText.trim().getAsInteger(10, size) ||
        size < 1)
      return emitError(loc) << "expected axis=size with a size of at least 1 "
                               "in the mesh sizes, got '"
                            << item << "'";
    std::optional<unsigned> axis = result.axisByName(name.trim());
    if (!axis) {
      InFlightDiagnostic diag = emitError(loc) << "the plan's mesh " << mesh
                                               << " has no axis '"
                                               << name.trim() << "' to resize";
      diag.attachNote(plan) << "the plan is here";
      return diag;
    }
    if (!seen.insert(*axis).second)
      return emitError(loc)
             << "the mesh sizes give axis '" << name.trim() << "' twice";
    result.axes[*axis].size = size;
  }
  if (!result.deviceOrder.empty() &&
      result.deviceOrder.size() != static_cast<size_t>(result.numRanks())) {
    InFlightDiagnostic diag =
        emitError(loc) << "the plan's mesh orders " << result.deviceOrder.size()
                       << " devices, resized it has " << result.numRanks();
    diag.attachNote(plan) << "the plan is here";
    return diag;
  }
  if (std::string broken = result.verify(); !broken.empty())
    return emitError(loc) << broken;
  return MeshAttr::get(mesh.getContext(), result);
}

/// The mesh of a plan that is a word.
static std::optional<Mesh> meshOf(StringRef plan, StringRef meshText,
                                  Location option) {
  Mesh mesh;
  SmallVector<StringRef> items;
  meshText.split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/true);
  for (StringRef item : items) {
    auto [name, sizeText] = item.split('=');
    int64_t size;
    if (name.trim().empty() || sizeText.trim().getAsInteger(10, size) ||
        size < 1) {
      emitError(option) << "plan '" << plan
                        << "' needs the mesh, expected axis=size "
                           "with a size of at least 1, got '"
                        << item << "'";
      return std::nullopt;
    }
    mesh.axes.push_back({name.trim().str(), size});
  }
  if (std::string broken = mesh.verify(); !broken.empty()) {
    emitError(option) << broken;
    return std::nullopt;
  }
  return mesh;
}

/// `--plan=auto`: a plan without entries for each axis of `meshText`.
static OwningOpRef<ModuleOp> autoPlan(StringRef meshText,
                                      MLIRContext *context) {
  Location loc = FileLineColLoc::get(context, autoPlanName, 1, 1);
  std::optional<Mesh> mesh =
      meshOf(autoPlanName, meshText, meshOption(context));
  if (!mesh)
    return nullptr;
  OwningOpRef<ModuleOp> file = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(file->getBody());
  for (const MeshAxis &axis : mesh->axes) {
    std::string name = autoPlanName.str();
    if (mesh->axes.size() > 1)
      name += std::to_string(&axis - mesh->axes.data());
    auto plan = PlanOp::create(builder, loc, name,
                               MeshAttr::get(context, *mesh), axis.name,
                               /*is_auto=*/true);
    plan.getBody().emplaceBlock();
  }
  return file;
}

/// `--plan=transformer{..}`: blocks are split over one axis, the batch over
/// another one.
static OwningOpRef<ModuleOp> transformerPlan(StringRef word, StringRef meshText,
                                             MLIRContext *context) {
  Location loc = FileLineColLoc::get(context, transformerPlanName, 1, 1);
  Builder attributes(context);
  NamedAttrList options;
  StringRef text = word.substr(transformerPlanName.size());
  if (!text.empty() && (!text.consume_front("{") || !text.consume_back("}")))
    return emitError(loc) << "expected transformer or transformer{OPTION, ..}, "
                             "got '"
                          << word << "'",
           nullptr;
  SmallVector<StringRef> items;
  text.split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  ArrayRef<StyleOption> known = styleOptions(StyleKind::Transformer);
  for (StringRef item : items) {
    if (llvm::none_of(known, [&](const StyleOption &option) {
          return option.name == item.trim();
        })) {
      InFlightDiagnostic diag = emitError(loc)
                                << "plan 'transformer' has no option '"
                                << item.trim() << "': its options are ";
      llvm::interleaveComma(
          known, diag, [&](const StyleOption &option) { diag << option.name; });
      return nullptr;
    }
    options.set(item.trim(), attributes.getBoolAttr(true));
  }
  std::optional<Mesh> mesh =
      meshOf(transformerPlanName, meshText, meshOption(context));
  if (!mesh)
    return nullptr;
  OwningOpRef<ModuleOp> file = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(file->getBody());
  for (const MeshAxis &axis : mesh->axes) {
    bool isOfBatch = axis.name == batchAxis;
    if (!isOfBatch && axis.name != transformerAxis)
      return emitError(meshOption(context))
                 << "plan 'transformer' is for the axes '" << transformerAxis
                 << "' and '" << batchAxis << "', the mesh has '" << axis.name
                 << "': write a plan file with style transformer for that axis",
             nullptr;
    auto plan = PlanOp::create(
        builder, loc, isOfBatch ? "batch" : transformerPlanName.str(),
        MeshAttr::get(context, *mesh), axis.name, /*is_auto=*/false);
    OpBuilder entries = OpBuilder::atBlockEnd(&plan.getBody().emplaceBlock());
    ParallelizeOp::create(
        entries, loc, "",
        toString(isOfBatch ? StyleKind::DataParallel : StyleKind::Transformer),
        isOfBatch ? attributes.getDictionaryAttr({})
                  : options.getDictionary(context));
  }
  return file;
}

FailureOr<PlanFile> tp::readPlan(ModuleOp model, StringRef path,
                                 StringRef meshSizes) {
  PlanFile result;
  if (path.empty()) {
    llvm::append_range(result.plans, model.getOps<PlanOp>());
    llvm::append_range(result.rules, model.getOps<RuleOp>());
    if (result.plans.empty())
      return model.emitError()
             << "expected a plan file or a tp.plan in the module, got neither";
  } else if ((path == "hf" || path.starts_with("hf:")) &&
             !llvm::sys::fs::exists(path)) {
    return emitError(FileLineColLoc::get(model.getContext(), path, 1, 1))
           << "the plan that a model of transformers carries is read by the "
              "Python package: write python -m tp compile with --plan="
           << path << ", or --plan=auto, transformer or a plan file";
  } else {
    result.file = !isPlanWord(path)
                      ? parseSource(path, "the plan", model.getContext())
                  : path == autoPlanName
                      ? autoPlan(meshSizes, model.getContext())
                      : transformerPlan(path, meshSizes, model.getContext());
    if (!result.file)
      return failure();
    for (Operation &op : *result.file->getBody()) {
      if (auto plan = dyn_cast<PlanOp>(op))
        result.plans.push_back(plan);
      else if (auto rule = dyn_cast<RuleOp>(op))
        result.rules.push_back(rule);
      else
        return op.emitError()
               << "expected tp.plan or tp.rule in a plan file, got '"
               << op.getName() << "'";
    }
    if (result.plans.empty())
      return emitError(FileLineColLoc::get(model.getContext(), path, 1, 1))
             << "expected a tp.plan in the plan file, got none";
  }
  PlanOp first = result.plans.front();
  for (PlanOp plan : result.plans)
    if (plan.getMesh() != first.getMesh()) {
      InFlightDiagnostic diag = plan.emitError()
                                << "plans of one file are for one mesh, got "
                                << plan.getMesh();
      diag.attachNote(first.getLoc()) << "the first is " << first.getMesh();
      return diag;
    }
  FailureOr<MeshAttr> mesh = resize(first.getMesh(), meshSizes, first.getLoc());
  if (failed(mesh) || failed(splitPlans(result.plans, mesh->getValue())))
    return failure();
  result.mesh = *mesh;
  return result;
}
