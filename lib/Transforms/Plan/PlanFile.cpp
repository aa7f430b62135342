//===- PlanFile.cpp - reads a plan ----------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFile.h"
#include "mlir/IR/Builders.h"
#include "tp/IR/ParseSource.h"

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

/// `--plan=auto`: a plan without entries for each axis of `meshText`.
static OwningOpRef<ModuleOp> autoPlan(StringRef meshText,
                                      MLIRContext *context) {
  Location loc = FileLineColLoc::get(context, autoPlanName, 1, 1);
  Location option = meshOption(context);
  Mesh mesh;
  SmallVector<StringRef> items;
  meshText.split(items, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/true);
  for (StringRef item : items) {
    auto [name, sizeText] = item.split('=');
    int64_t size;
    if (name.trim().empty() || sizeText.trim().getAsInteger(10, size) ||
        size < 1)
      return emitError(option)
                 << "plan 'auto' needs the mesh, expected axis=size "
                    "with a size of at least 1, got '"
                 << item << "'",
             nullptr;
    mesh.axes.push_back({name.trim().str(), size});
  }
  if (std::string broken = mesh.verify(); !broken.empty())
    return emitError(option) << broken, nullptr;
  OwningOpRef<ModuleOp> file = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(file->getBody());
  for (const MeshAxis &axis : mesh.axes) {
    std::string name = autoPlanName.str();
    if (mesh.axes.size() > 1)
      name += std::to_string(&axis - mesh.axes.data());
    auto plan = PlanOp::create(builder, loc, name, MeshAttr::get(context, mesh),
                               axis.name,
                               /*is_auto=*/true);
    plan.getBody().emplaceBlock();
  }
  return file;
}

FailureOr<PlanFile> tp::readPlan(ModuleOp model, StringRef path,
                                 StringRef meshSizes) {
  PlanFile result;
  if (path.empty()) {
    llvm::append_range(result.plans, model.getOps<PlanOp>());
    if (result.plans.empty())
      return model.emitError()
             << "expected a plan file or a tp.plan in the module, got neither";
  } else {
    result.file = path == autoPlanName
                      ? autoPlan(meshSizes, model.getContext())
                      : parseSource(path, "the plan", model.getContext());
    if (!result.file)
      return failure();
    for (Operation &op : *result.file->getBody()) {
      auto plan = dyn_cast<PlanOp>(op);
      if (!plan)
        return op.emitError() << "expected tp.plan in a plan file, got '"
                              << op.getName() << "'";
      result.plans.push_back(plan);
    }
    if (result.plans.empty())
      return emitError(FileLineColLoc::get(model.getContext(), path, 1, 1))
             << "expected a tp.plan in the plan file, got none";
  }
  PlanOp first = result.plans.front();
  llvm::StringMap<PlanOp> byAxis;
  for (PlanOp plan : result.plans) {
    if (plan.getMesh() != first.getMesh()) {
      InFlightDiagnostic diag = plan.emitError()
                                << "plans of one file are for one mesh, got "
                                << plan.getMesh();
      diag.attachNote(first.getLoc()) << "the first is " << first.getMesh();
      return diag;
    }
    auto [it, isNew] = byAxis.try_emplace(plan.getAxis(), plan);
    if (!isNew) {
      InFlightDiagnostic diag = plan.emitError() << "axis '" << plan.getAxis()
                                                 << "' has a plan already";
      diag.attachNote(it->second.getLoc()) << "it is here";
      return diag;
    }
  }
  FailureOr<MeshAttr> mesh = resize(first.getMesh(), meshSizes, first.getLoc());
  if (failed(mesh))
    return failure();
  result.mesh = *mesh;
  // Those are marked optional.
  llvm::erase_if(result.plans, [&](PlanOp plan) {
    return !result.mesh.getValue().axisByName(plan.getAxis());
  });
  return result;
}
