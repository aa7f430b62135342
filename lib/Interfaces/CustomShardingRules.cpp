//===- CustomShardingRules.cpp - ops whose rule the user states -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/CustomOps.h"
#include "tp/Interfaces/Registration.h"
#include "tp/Interfaces/ReplicatedRule.h"

using namespace mlir;
using namespace tp;

namespace {
/// Which dimensions are which factors; one of size 1 is none.
TensorFactors factorsOf(const CustomRule::Dims &dims,
                        ArrayRef<std::string> names) {
  TensorFactors factors;
  for (const std::string &name : dims) {
    DimFactors &dim = factors.emplace_back();
    const auto *at = llvm::find(names, name);
    if (at != names.end())
      dim.push_back(at - names.begin());
  }
  return factors;
}

int64_t sizeOf(StringRef name, ArrayRef<CustomRule::Dims> tensors,
               ValueRange values) {
  for (auto [dims, value] : llvm::zip(tensors, values))
    for (auto [dim, other] : llvm::enumerate(dims))
      if (other == name)
        return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  llvm_unreachable("a name of no tensor");
}

/// Counts the indices that every rank has of dimensions with uneven chunks.
class ValidCounts {
public:
  explicit ValidCounts(MeshAttr mesh) : mesh(mesh.getValue()) {}

  /// False where what a rank has is not the first of its buffer.
  bool add(const Layout &layout, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> &numbers = dims.emplace_back();
    for (auto [dim, size] : llvm::enumerate(shape)) {
      std::vector<int64_t> counts;
      int64_t local = layout.localShape(shape)[dim];
      if (!layout.partsSharding(dim).empty())
        for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
          int64_t &count = counts.emplace_back(0);
          for (const Interval &held : layout.intervals(mesh, dim, size, rank)) {
            if (held.size && held.localOffset != count)
              return false;
            count += held.size;
          }
        }
      if (llvm::all_of(counts, [&](int64_t count) { return count == local; })) {
        numbers.push_back(-1);
        continue;
      }
      auto at = llvm::find(valid, counts);
      numbers.push_back(at - valid.begin());
      if (at == valid.end())
        valid.push_back(std::move(counts));
    }
    return true;
  }

  void set(CustomOp op) const {
    if (valid.empty())
      return;
    Builder builder(op.getContext());
    auto arrays = [&](const auto &lists) {
      SmallVector<Attribute> all;
      for (const auto &list : lists)
        all.push_back(builder.getDenseI64ArrayAttr(list));
      return builder.getArrayAttr(all);
    };
    op.setValidAttr(arrays(valid));
    op.setValidDimsAttr(arrays(dims));
  }

private:
  const Mesh &mesh;
  std::vector<std::vector<int64_t>> valid;
  std::vector<SmallVector<int64_t>> dims;
};

struct CustomModel
    : ShardingRuleOpInterface::ExternalModel<CustomModel, CustomOp> {
  /// Without a rule every rank does all of it; tp-propagate asks the user
  /// before.
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto custom = cast<CustomOp>(op);
    ShardingRule rule = replicatedRule(op);
    if (!custom.getRule())
      return rule;
    std::string problem;
    std::optional<CustomRule> stated = CustomRule::of(custom, problem);
    if (!stated)
      return op->emitOpError() << problem;
    SmallVector<std::string> names = stated->splitNames();
    for (const std::string &name : names) {
      Factor &factor = rule.factors.emplace_back();
      factor.size = sizeOf(name, stated->operands, custom.getInputs());
      rule.work *= static_cast<double>(std::max<int64_t>(factor.size, 1));
      if (!stated->reduces(name))
        continue;
      factor.kind = FactorKind::Reduction;
      factor.combiners.assign(op->getNumResults(), stated->combine);
    }
    for (auto [i, dims] : llvm::enumerate(stated->operands))
      if (i < rule.slotFactors.size())
        rule.slotFactors[i] = factorsOf(dims, names);
    for (auto [i, dims] : llvm::enumerate(stated->results))
      rule.resultFactors[i] = factorsOf(dims, names);
    return rule;
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    SmallVector<Value> results = createReplicated(local);
    auto made = results.front().getDefiningOp<CustomOp>();
    ValidCounts counts(meshOf(op));
    bool isFirst = true;
    for (unsigned slot = 0; slot < local.rule.slots.size(); ++slot)
      isFirst &= counts.add(
          local.rule.slotLayout(slot, local.strategy),
          cast<RankedTensorType>(op->getOperand(slot).getType()).getShape());
    for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
      isFirst &= counts.add(local.rule.resultLayout(i, local.strategy),
                            cast<RankedTensorType>(type).getShape());
    if (!isFirst)
      return op->emitError()
             << "'" << customNameOf(op)
             << "' gets uneven parts of a packed dimension, with padding "
                "between them, which no function is called with: expected '_' "
                "for the dimension in its tp.rule, or parts that the ranks "
                "divide";
    counts.set(made);
    made.removeRuleAttr();
    made.removeReductionAttr();
    made.removeCombineAttr();
    return results;
  }
};
} // namespace

void tp::registerCustomShardingRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TPDialect *) {
    CustomOp::attachInterface<CustomModel>(*context);
  });
}
