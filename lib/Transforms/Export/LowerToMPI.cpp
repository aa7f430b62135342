//===- LowerToMPI.cpp - collectives in upstream's mpi ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MPIMessages.h"
#include "MessageElements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/Collective.h"
#include "tp/Transforms/Export/ExportPasses.h"

namespace tp {
#define GEN_PASS_DEF_LOWERTOMPI
#include "tp/Transforms/Export/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static Value reshape(ImplicitLocOpBuilder &builder, Value value,
                     ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  // One of the two shapes has one dimension.
  auto all = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank)
      groups.push_back(llvm::to_vector<2>(llvm::seq<int64_t>(rank)));
    return groups;
  };
  auto result = RankedTensorType::get(shape, type.getElementType());
  auto rank = static_cast<int64_t>(shape.size());
  if (rank > type.getRank())
    return tensor::ExpandShapeOp::create(builder, result, value,
                                         all(type.getRank() ? rank : 0));
  return tensor::CollapseShapeOp::create(builder, result, value,
                                         all(rank ? type.getRank() : 0));
}

static Value flatten(ImplicitLocOpBuilder &builder, Value value) {
  return reshape(builder, value,
                 cast<RankedTensorType>(value.getType()).getNumElements());
}

/// Moves dimension `from` to `to`.
static Value moveDim(ImplicitLocOpBuilder &builder, Value value, int64_t from,
                     int64_t to) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  Value init = tensor::EmptyOp::create(builder, shape, type.getElementType());
  return linalg::TransposeOp::create(builder, value, init, order)->getResult(0);
}

static bool isOuterDim(ArrayRef<int64_t> shape, int64_t dim) {
  return llvm::all_of(shape.take_front(dim),
                      [](int64_t size) { return size == 1; });
}

/// `dim` in two, of sizes `count` and the rest, or back.
static SmallVector<ReassociationIndices> splitDim(int64_t rank, int64_t dim) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < rank; ++i) {
    groups.push_back({i + (i > dim)});
    if (i == dim)
      groups.back().push_back(i + 1);
  }
  return groups;
}

/// `count` blocks of `value` along `dim`, one after the other.
static Value toBlocks(ImplicitLocOpBuilder &builder, Value value, int64_t dim,
                      int64_t count) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!isOuterDim(type.getShape(), dim)) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] /= count;
    shape.insert(shape.begin() + dim, count);
    value = tensor::ExpandShapeOp::create(
        builder, RankedTensorType::get(shape, type.getElementType()), value,
        splitDim(type.getRank(), dim));
    value = moveDim(builder, value, dim, 0);
  }
  return flatten(builder, value);
}

/// The reverse: a tensor of `shape`.
static Value fromBlocks(ImplicitLocOpBuilder &builder, Value flat,
                        ArrayRef<int64_t> shape, int64_t dim, int64_t count) {
  if (isOuterDim(shape, dim))
    return reshape(builder, flat, shape);
  SmallVector<int64_t> blocks{count};
  llvm::append_range(blocks, shape);
  blocks[dim + 1] /= count;
  Value value = moveDim(builder, reshape(builder, flat, blocks), 0, dim);
  auto rank = static_cast<int64_t>(shape.size());
  return tensor::CollapseShapeOp::create(
      builder,
      RankedTensorType::get(shape, getElementTypeOrSelf(value.getType())),
      value, splitDim(rank, dim));
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// What MPI combines as tp does, over elements that it has a type for.
static std::optional<mpi::MPI_ReductionOpEnum> mpiReduction(ReductionKind kind,
                                                            Type element) {
  if (messageType(element) != element)
    return std::nullopt;
  using Kind = mpi::MPI_ReductionOpEnum;
  bool isInteger = element.isInteger();
  switch (kind) {
  case ReductionKind::Sum:
    return Kind::MPI_SUM;
  case ReductionKind::Product:
    return Kind::MPI_PROD;
  case ReductionKind::Max:
    return isInteger ? std::optional(Kind::MPI_MAX) : std::nullopt;
  case ReductionKind::Min:
    return isInteger ? std::optional(Kind::MPI_MIN) : std::nullopt;
  case ReductionKind::Avg:
    return std::nullopt;
  }
  llvm_unreachable("unknown reduction kind");
}

namespace {
/// Replaces the collectives of one function.
class CollectiveLowering {
public:
  CollectiveLowering(ImplicitLocOpBuilder &builder, const MPIWorld &world)
      : builder(builder), world(world) {}

  /// What takes the place of the result of `op`.
  Value lower(Operation *op, AxesAttr axes) {
    Value source = op->getOperand(0);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (type.getNumElements() == 0)
      return tensor::EmptyOp::create(builder, type.getShape(),
                                     type.getElementType());
    size = axes.groupSize();
    if (size == 1)
      return source;
    if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      ReductionKind kind = reduce.getReduction().getValue();
      Value flat = flatten(builder, source);
      auto direct = mpiReduction(kind, type.getElementType());
      bool isWorld = axes.getMesh().getValue().numRanks() == size;
      flat = direct && isWorld ? world.allReduce(builder, flat, *direct)
                               : allReduce(flat, kind, axes);
      return reshape(builder, flat, type.getShape());
    }
    MPIGroup group(builder, world, axes);
    if (auto gather = dyn_cast<AllGatherOp>(op)) {
      Value blocks = sent(flatten(builder, source),
                          [&](Value block) { return group.gather(block); });
      return fromBlocks(builder, blocks, type.getShape(), gather.getDim(),
                        size);
    }
    if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
      Value blocks = toBlocks(builder, source, scatter.getDim(), size);
      return reshape(
          builder,
          exchangeAndReduce(group, blocks, scatter.getReduction().getValue()),
          type.getShape());
    }
    if (auto all = dyn_cast<AllToAllOp>(op)) {
      Value blocks = sent(toBlocks(builder, source, all.getSplitDim(), size),
                          [&](Value value) { return group.exchange(value); });
      return fromBlocks(builder, blocks, type.getShape(), all.getConcatDim(),
                        size);
    }
    auto permute = cast<PermuteOp>(op);
    Value flat = sent(flatten(builder, source), [&](Value block) {
      return group.permute(block, permute.getSources());
    });
    return reshape(builder, flat, type.getShape());
  }

private:
  /// What `send` makes of a tensor whose elements it can send.
  Value sent(Value flat, function_ref<Value(Value)> send) {
    Type element = getElementTypeOrSelf(flat.getType());
    return fromMessage(builder, send(toMessage(builder, flat)), element);
  }

  /// This rank's block of the combined `blocks`.
  Value exchangeAndReduce(MPIGroup &group, Value blocks, ReductionKind kind) {
    Value rows =
        sent(blocks, [&](Value value) { return group.exchange(value); });
    int64_t total = cast<RankedTensorType>(rows.getType()).getDimSize(0);
    return reduceRows(builder, reshape(builder, rows, {size, total / size}),
                      kind);
  }

  /// Every rank combines a block of `flat`, then they gather the blocks.
  Value allReduce(Value flat, ReductionKind kind, AxesAttr axes) {
    auto type = cast<RankedTensorType>(flat.getType());
    Type element = type.getElementType();
    int64_t count = type.getDimSize(0);
    int64_t total = llvm::divideCeil(count, size) * size;
    auto at = [&](int64_t value) {
      return SmallVector<OpFoldResult>{builder.getIndexAttr(value)};
    };
    if (total != count) {
      Value zero =
          arith::ConstantOp::create(builder, builder.getZeroAttr(element));
      Value zeros =
          linalg::FillOp::create(
              builder, zero,
              Value(tensor::EmptyOp::create(builder, {total}, element)))
              .getResult(0);
      flat = tensor::InsertSliceOp::create(builder, flat, zeros, at(0),
                                           at(count), at(1));
    }
    MPIGroup group(builder, world, axes);
    Value block = exchangeAndReduce(group, flat, kind);
    flat = sent(block, [&](Value value) { return group.gather(value); });
    if (total == count)
      return flat;
    return tensor::ExtractSliceOp::create(builder, flat, at(0), at(count),
                                          at(1));
  }

  ImplicitLocOpBuilder &builder;
  const MPIWorld &world;
  int64_t size = 1;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct LowerToMPIPass : tp::impl::LowerToMPIBase<LowerToMPIPass> {
  using LowerToMPIBase::LowerToMPIBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(setImplementation(module)))
      return signalPassFailure();
    dropAttributes(module);
    for (auto func : module.getOps<func::FuncOp>()) {
      if (failed(lower(func)))
        return signalPassFailure();
      keepArguments(func);
    }
  }

  LogicalResult setImplementation(ModuleOp module) {
    if (implementation.empty())
      return success();
    if (implementation != "MPICH" && implementation != "OpenMPI")
      return module.emitError() << "implementation is '" << implementation
                                << "', expected MPICH or OpenMPI";
    MLIRContext *context = &getContext();
    auto key = StringAttr::get(context, "MPI:Implementation");
    SmallVector<DataLayoutEntryInterface> entries;
    if (auto map = module->getAttrOfType<MapAttr>(DLTIDialect::kMapAttrName))
      llvm::copy_if(map.getEntries(), std::back_inserter(entries),
                    [&](DataLayoutEntryInterface entry) {
                      return dyn_cast<StringAttr>(entry.getKey()) != key;
                    });
    entries.push_back(DataLayoutEntryAttr::get(
        key, StringAttr::get(context, implementation)));
    module->setAttr(DLTIDialect::kMapAttrName, MapAttr::get(context, entries));
    return success();
  }

  /// Whether `op`, of tp, can be lowered in a program on `mesh`, which is null
  /// before the first.
  static LogicalResult verify(Operation *op, MeshAttr &mesh) {
    std::optional<Collective> collective = asCollective(op);
    auto index = dyn_cast<AxisIndexOp>(op);
    if (!collective && !index)
      return op->emitOpError("is left, expected none but collectives and "
                             "tp.axis_index; run tp-partition first");
    MeshAttr own = (collective ? collective->axes : index.getAxes()).getMesh();
    if (mesh && mesh != own)
      return op->emitOpError() << "is on the mesh " << own << ", expected "
                               << mesh << " as the ops before it";
    mesh = own;
    if (!collective || collective->axes.groupSize() == 1)
      return success();
    auto source = cast<RankedTensorType>(op->getOperand(0).getType());
    Type element = source.getElementType();
    if (!messageType(element))
      return op->emitOpError() << "sends elements of type " << element
                               << ", expected floats or signless integers of "
                                  "1, 8, 16, 32 or 64 bits, or index";
    auto kind = op->getAttrOfType<ReductionAttr>("reduction");
    if (kind && !canReduce(kind.getValue(), element))
      return op->emitOpError()
             << "combines elements of type " << element << " by "
             << toString(kind.getValue()) << ", which has no lowering to mpi";
    // What a rank sends in one message is at most its operand.
    if (source.getNumElements() > std::numeric_limits<int32_t>::max())
      return op->emitOpError()
             << "has " << source.getNumElements()
             << " elements, expected at most 2147483647, the most that MPI "
                "counts in one message";
    return success();
  }

  static LogicalResult verifyPlain(Operation *op, TypeRange types) {
    for (Type type : types)
      if (LayoutAttr::of(type))
        return op->emitOpError() << "has a layout in type " << type
                                 << ", expected plain types; run tp-partition "
                                    "first";
    return success();
  }

  LogicalResult lower(func::FuncOp func) {
    // No pass of tp is left to merge the two.
    for (auto kept :
         llvm::make_early_inc_range(func.getBody().getOps<KeptOp>())) {
      kept.replaceAllUsesWith(kept.getSource());
      kept.erase();
    }
    SmallVector<Operation *> ops;
    MeshAttr mesh;
    WalkResult walked = func.walk([&](Operation *op) {
      LogicalResult plain = verifyPlain(op, op->getResultTypes());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (succeeded(plain))
            plain = verifyPlain(op, block.getArgumentTypes());
      if (failed(plain))
        return WalkResult::interrupt();
      if (!isa_and_nonnull<TPDialect>(op->getDialect()))
        return WalkResult::advance();
      ops.push_back(op);
      return failed(verify(op, mesh)) ? WalkResult::interrupt()
                                      : WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
    if (ops.empty())
      return success();
    ImplicitLocOpBuilder builder(func.getLoc(), func.getContext());
    builder.setInsertionPointToStart(&func.getBody().front());
    MPIWorld world(builder, mesh.getValue());
    CollectiveLowering lowering(builder, world);
    for (Operation *op : ops) {
      builder.setInsertionPoint(op);
      builder.setLoc(op->getLoc());
      std::optional<Collective> collective = asCollective(op);
      Value result =
          collective ? lowering.lower(op, collective->axes)
                     : world.position(builder, cast<AxisIndexOp>(op).getAxes());
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
    return success();
  }

  static bool isOfTP(NamedAttribute attribute) {
    return isa_and_nonnull<TPDialect>(attribute.getNameDialect());
  }

  static DictionaryAttr withoutTP(DictionaryAttr attributes) {
    SmallVector<NamedAttribute> kept(attributes.getValue());
    llvm::erase_if(kept, isOfTP);
    return DictionaryAttr::get(attributes.getContext(), kept);
  }

  /// Bufferization would write into an argument after its last use, and weights
  /// belong to the caller, who uses them in the next step.
  static void keepArguments(func::FuncOp func) {
    if (func.isExternal())
      return;
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (isa<RankedTensorType>(func.getArgument(i).getType()))
        func.setArgAttr(i,
                        bufferization::BufferizationDialect::kWritableAttrName,
                        BoolAttr::get(func.getContext(), false));
  }

  /// A tool without tp can read what is left.
  static void dropAttributes(ModuleOp module) {
    module.walk([](Operation *op) {
      op->setDiscardableAttrs(withoutTP(op->getDiscardableAttrDictionary()));
      auto func = dyn_cast<func::FuncOp>(op);
      if (!func)
        return;
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        if (DictionaryAttr attributes = func.getArgAttrDict(i))
          func.setArgAttrs(i, withoutTP(attributes));
      for (unsigned i = 0; i < func.getNumResults(); ++i)
        if (DictionaryAttr attributes = func.getResultAttrDict(i))
          func.setResultAttrs(i, withoutTP(attributes));
    });
  }
};
} // namespace
