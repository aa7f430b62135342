//===- ImportShard.cpp - annotations of `shard` become a plan -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardLayouts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/Transforms/Import/ImportPasses.h"

namespace tp {
#define GEN_PASS_DEF_IMPORTSHARD
#include "tp/Transforms/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

bool tp::hasShardAnnotations(ModuleOp module) {
  return !module.getOps<shard::GridOp>().empty();
}

namespace {
/// The annotations of one function.
class FunctionAnnotations {
public:
  /// Entries for the ports of the function go to `plans`, one per axis of
  /// `mesh`. Without plans its ports are values of the program like others.
  FunctionAnnotations(func::FuncOp function, MeshAttr mesh,
                      ArrayRef<PlanOp> plans)
      : function(function), mesh(mesh), plans(plans),
        builder(function.getContext()) {}

  LogicalResult import() {
    if (failed(read()) || failed(checkAgreement()))
      return failure();
    if (annotations.empty())
      return success();
    if (!function.getBody().hasOneBlock())
      return function.emitError()
             << "expected annotations in a function of one block, got "
             << function.getBody().getBlocks().size();
    if (!plans.empty()) {
      nameArguments();
      nameResults();
    }
    for (shard::ShardOp annotation : annotations)
      if (!annotation.getAnnotateForUsers())
        pinDefinition(annotation);
    for (shard::ShardOp annotation : annotations)
      pinUses(annotation);
    for (shard::ShardOp annotation : llvm::reverse(annotations))
      annotation.erase();
    return success();
  }

private:
  LogicalResult read() {
    WalkResult walk = function.walk([&](shard::ShardOp annotation) {
      if (annotation->getParentOp() != function) {
        annotation.emitError()
            << "expected annotations in the body of a function, got one in '"
            << annotation->getParentOp()->getName()
            << "'; annotate what this op takes and results in";
        return WalkResult::interrupt();
      }
      FailureOr<Layout> layout = layoutOf(annotation, mesh.getValue());
      if (failed(layout))
        return WalkResult::interrupt();
      annotations.push_back(annotation);
      layouts[annotation] = *layout;
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  LogicalResult contradiction(shard::ShardOp annotation,
                              shard::ShardOp earlier) {
    InFlightDiagnostic diag =
        annotation.emitError()
        << "the value is annotated as " << text(layouts[annotation])
        << " here, and as " << text(layouts[earlier])
        << " before; expected one layout, or annotate_for_users where its uses "
           "have another one";
    diag.attachNote(earlier.getLoc()) << "the other annotation is here";
    return diag;
  }

  std::string text(const Layout &layout) {
    return layout.toString(mesh.getValue());
  }

  /// Only an annotation for users may state another layout than the one before
  /// it.
  LogicalResult checkAgreement() {
    for (shard::ShardOp annotation : annotations) {
      Value source = annotation.getSrc();
      auto earlier = source.getDefiningOp<shard::ShardOp>();
      bool isForUsers = annotation.getAnnotateForUsers();
      if (earlier && layouts[annotation] != layouts[earlier] &&
          (!isForUsers || earlier.getAnnotateForUsers()))
        return contradiction(annotation, earlier);
      if (earlier || isForUsers)
        continue;
      auto [it, isNew] = definitions.try_emplace(source, annotation);
      if (!isNew && layouts[annotation] != layouts[it->second])
        return contradiction(annotation, it->second);
    }
    return success();
  }

  void addEntries(shard::ShardOp annotation,
                  function_ref<void(PlacementAttr)> create) {
    for (auto [axis, plan] : llvm::enumerate(plans)) {
      builder.setInsertionPointToEnd(&PlanOp(plan).getBody().front());
      create(PlacementAttr::get(builder.getContext(),
                                layouts[annotation].onAxis(axis)));
    }
  }

  /// The annotation for users that all uses of the argument go through, if they
  /// are of one layout.
  shard::ShardOp annotationOfAllUses(BlockArgument argument) {
    shard::ShardOp found;
    for (Operation *user : argument.getUsers()) {
      auto annotation = dyn_cast<shard::ShardOp>(user);
      if (!annotation || (found && layouts[annotation] != layouts[found]))
        return nullptr;
      found = annotation;
    }
    return found;
  }

  void nameArguments() {
    for (BlockArgument argument : function.getArguments()) {
      shard::ShardOp annotation = definitions.lookup(argument);
      if (!annotation)
        annotation = annotationOfAllUses(argument);
      if (!annotation)
        continue;
      addEntries(annotation, [&](PlacementAttr placement) {
        ArgumentOp::create(builder, annotation.getLoc(),
                           builder.getI64IntegerAttr(argument.getArgNumber()),
                           placement);
      });
      current[argument] = layouts[annotation];
    }
  }

  void nameResults() {
    Operation *end = function.getBody().front().getTerminator();
    for (OpOperand &operand : end->getOpOperands()) {
      auto annotation = operand.get().getDefiningOp<shard::ShardOp>();
      if (!annotation)
        continue;
      addEntries(annotation, [&](PlacementAttr placement) {
        ResultOp::create(builder, annotation.getLoc(),
                         builder.getI64IntegerAttr(operand.getOperandNumber()),
                         placement);
      });
    }
  }

  /// `value` with the annotation's placement on every axis; the first op made
  /// goes to `first`.
  Value pin(Value value, shard::ShardOp annotation,
            ConstrainOp *first = nullptr) {
    StringRef module = moduleOf(annotation.getSrc().getLoc());
    if (module.empty())
      module = function.getSymName();
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(value.getType()).getShape();
    for (auto [number, axis] : llvm::enumerate(mesh.getValue().axes)) {
      auto made = ConstrainOp::create(
          builder, annotation.getLoc(), value.getType(), value, mesh, axis.name,
          PlacementAttr::get(builder.getContext(),
                             layouts[annotation].onAxis(number)),
          shape, module, "annotation", /*lazy=*/false,
          /*dims=*/DenseI64ArrayAttr());
      if (first && number == 0)
        *first = made;
      value = made;
    }
    current[value] = layouts[annotation];
    return value;
  }

  /// The value has the layout for all of its uses.
  void pinDefinition(shard::ShardOp annotation) {
    Value value = annotation.getSrc();
    if (definitions.lookup(value) != annotation)
      return;
    if (isa<BlockArgument>(value) && !plans.empty())
      return;
    builder.setInsertionPointAfterValue(value);
    ConstrainOp first;
    Value pinned = pin(value, annotation, &first);
    value.replaceAllUsesExcept(pinned, first);
  }

  /// The uses of the annotation read a value of this layout.
  void pinUses(shard::ShardOp annotation) {
    Value value = annotation.getSrc();
    auto known = current.find(value);
    bool isKnown =
        known != current.end() && known->second == layouts[annotation];
    bool isReturned =
        !plans.empty() &&
        llvm::all_of(annotation->getUsers(), llvm::IsaPred<func::ReturnOp>);
    if (!isKnown && !isReturned) {
      builder.setInsertionPoint(annotation);
      value = pin(value, annotation);
    }
    annotation.getResult().replaceAllUsesWith(value);
  }

  func::FuncOp function;
  MeshAttr mesh;
  ArrayRef<PlanOp> plans;
  OpBuilder builder;
  SmallVector<shard::ShardOp> annotations;
  llvm::DenseMap<Operation *, Layout> layouts;
  /// By value: the first annotation that is not for its users.
  llvm::DenseMap<Value, shard::ShardOp> definitions;
  /// Layouts of values that are pinned already.
  llvm::DenseMap<Value, Layout> current;
};

struct ImportShardPass : tp::impl::ImportShardBase<ImportShardPass> {
  using ImportShardBase::ImportShardBase;

  /// Annotations are in functions of the module, and nothing else reads a
  /// sharding.
  bool checkPlace(Operation *op) {
    auto function = op->getParentOfType<func::FuncOp>();
    if (!function || function->getParentOp() != getOperation()) {
      op->emitError() << "expected '" << op->getName()
                      << "' in a func.func of the outermost module";
      return false;
    }
    if (!isa<shard::ShardingOp>(op))
      return true;
    for (Operation *user : op->getUsers())
      if (!isa_and_present<shard::ShardDialect>(user->getDialect())) {
        user->emitError() << "'" << user->getName()
                          << "' takes a layout as a value, expected "
                             "shard.shard with a shard.sharding of this "
                             "function";
        return false;
      }
    return true;
  }

  LogicalResult checkOps(shard::GridOp grid) {
    WalkResult walk = getOperation().walk([&](Operation *op) {
      if (isa<shard::ShardOp, shard::ShardingOp>(op))
        return checkPlace(op) ? WalkResult::advance() : WalkResult::interrupt();
      if (!isa_and_present<shard::ShardDialect>(op->getDialect()) || op == grid)
        return WalkResult::advance();
      if (isa<shard::GridOp>(op)) {
        InFlightDiagnostic diag = op->emitError()
                                  << "expected one shard.grid in the outermost "
                                     "module, got a second; tp has one mesh: "
                                     "annotate with one grid of several axes";
        diag.attachNote(grid.getLoc()) << "the first is here";
      } else {
        op->emitError() << "'" << op->getName()
                        << "' is not handled, expected shard.grid, "
                           "shard.sharding and shard.shard around the program "
                           "of all ranks; tp inserts the communication";
      }
      return WalkResult::interrupt();
    });
    return failure(walk.wasInterrupted());
  }

  LogicalResult checkPlan(shard::GridOp grid) {
    ModuleOp module = getOperation();
    if (!plan.empty() && plan != "auto")
      return grid.emitError()
             << "the program has a plan, its shard annotations, expected no "
                "plan or 'auto', got '"
             << plan << "'";
    if (module->hasAttr(attr::mesh) || !module.getOps<PlanOp>().empty())
      return module.emitError() << "the module has both shard annotations and "
                                   "a plan of tp, expected one of them";
    return success();
  }

  LogicalResult import() {
    ModuleOp module = getOperation();
    shard::GridOp grid = *module.getOps<shard::GridOp>().begin();
    if (failed(checkOps(grid)) || failed(checkPlan(grid)))
      return failure();
    FailureOr<Mesh> mesh = meshOfGrid(grid, this->mesh);
    if (failed(mesh))
      return failure();
    auto meshAttr = MeshAttr::get(&getContext(), *mesh);
    OpBuilder builder(grid);
    SmallVector<PlanOp> plans;
    for (const MeshAxis &axis : mesh->axes) {
      plans.push_back(PlanOp::create(builder, grid.getLoc(), grid.getSymName(),
                                     meshAttr, axis.name,
                                     /*is_auto=*/plan == "auto"));
      plans.back().getBody().emplaceBlock();
    }
    // tp-legalize compiles the public function, or the one called main.
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    bool hasOne = llvm::count_if(functions, [](func::FuncOp function) {
                    return !function.isExternal() && !function.isPrivate();
                  }) == 1;
    for (func::FuncOp function : functions) {
      bool isProgram =
          !function.isPrivate() && (hasOne || function.getSymName() == "main");
      if (failed(FunctionAnnotations(function, meshAttr,
                                     isProgram ? ArrayRef(plans)
                                               : ArrayRef<PlanOp>())
                     .import()))
        return failure();
    }
    module.walk([](shard::ShardingOp sharding) { sharding.erase(); });
    grid.erase();
    return success();
  }

  void runOnOperation() override {
    if (!hasShardAnnotations(getOperation()))
      return markAllAnalysesPreserved();
    if (failed(import()))
      signalPassFailure();
  }
};
} // namespace
