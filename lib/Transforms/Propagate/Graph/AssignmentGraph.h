//===- AssignmentGraph.h - what layouts are assigned to ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PROPAGATE_GRAPH_ASSIGNMENTGRAPH_H
#define TP_LIB_TRANSFORMS_PROPAGATE_GRAPH_ASSIGNMENTGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/Entries.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"
#include "tp/Interfaces/ShardingRule.h"

namespace tp::propagate {

/// The placement that a plan, or a default, requires of one node on one axis
/// part.
struct Pin {
  Placement placement;
  /// The value may also stay partial, to be replicated later.
  bool lazy = false;
  /// A shard: of any of these dimensions, in any chunks. `tp-normalize` made
  /// them of the dimension that the plan names.
  llvm::SmallVector<int64_t, 2> dims;
  /// A shard of a parameter: in chunks that some use takes (whole heads, parts
  /// of every segment).
  bool inChunksOfUses = false;
  /// A shard on a minor sub-axis: replicate as well, where heads are too few
  /// for it.
  bool orReplicate = false;

  /// Whether `made` satisfies the pin.
  bool allows(const Placement &made) const;
};

struct Node {
  enum class Kind { Argument, Op, Constrain, Result };
  Kind kind = Kind::Op;
  bool isPort() const { return kind == Kind::Argument || kind == Kind::Result; }
  /// The op; for an argument null, for a result the return op.
  mlir::Operation *op = nullptr;
  /// The number of the argument or result.
  unsigned index = 0;
  /// The entry that the node is of.
  unsigned entry = 0;
  /// Of an argument that several entries share: the node that it is in the
  /// first of them, which has the same pins and gets the same layout.
  std::optional<unsigned> sharedWith;
  /// The parameter whose layout the port has: the port is an optimizer state,
  /// or a result that is the next step's parameter or state, and the plan
  /// requires nothing else of it.
  std::optional<unsigned> tiedTo;
  /// Ops and constrains.
  ShardingRule rule;
  /// Numbers of values. Results count tensors only.
  llvm::SmallVector<unsigned, 3> slots;
  llvm::SmallVector<unsigned, 1> results;
  /// An argument that is data, not part of the model.
  bool isUserInput = false;
  /// One entry per axis part of the program.
  llvm::SmallVector<std::optional<Pin>, 2> pins;
  /// Arguments and results without a pin there, one entry per axis part: tp
  /// chooses their layout.
  llvm::SmallVector<std::optional<FreePort>, 2> free;
  /// Of an op: equal for those whose rules, and types of slots and results, are
  /// equal.
  unsigned equivalenceClass = 0;
  /// A structural hash, independent of the op's position in the program.
  uint64_t key = 0;
};

/// One use of a value by a node.
struct SlotUse {
  unsigned node = 0, slot = 0;
};

/// The entries of a module as nodes and values. Nodes of different entries have
/// no values in common.
struct AssignmentGraph {
  llvm::SmallVector<mlir::func::FuncOp, 1> entries;
  /// The first of them.
  mlir::func::FuncOp func;
  /// Per entry: how often it runs, relative to the others.
  llvm::SmallVector<int64_t, 1> entryCalls;
  MeshAttr meshAttr;
  /// The axis parts of layouts: every axis, whole, or cut into sub-axes if it
  /// has more ranks than there are heads. Parts of one axis are major first.
  llvm::SmallVector<AxisPart> parts;
  /// Per part: it is a minor sub-axis whose ranks share heads.
  llvm::SmallVector<bool> sharesHeads;
  std::vector<Node> nodes;
  std::vector<mlir::Value> values;
  /// Made of parameters alone.
  std::vector<bool> isWeight;
  /// Of those: sums over dimensions of parameters, as the norms of rows.
  std::vector<bool> isSumOfWeights;
  /// Per value.
  std::vector<llvm::SmallVector<SlotUse, 2>> uses;
  /// Per value: how often it is brought into another layout, relative to the
  /// others.
  std::vector<int64_t> calls;
  /// Per value: how many slices of it a step takes instead of all of it, each
  /// in an iteration of a loop; 1 if it takes all at once.
  std::vector<int64_t> slices;
  /// The values that are one tensor, of shared arguments: by each of them, in
  /// the order of the entries.
  llvm::DenseMap<unsigned, llvm::SmallVector<unsigned, 2>> sharedValues;

  /// Whether a collective on the value moves weights, which ranks use in the
  /// layout that they have.
  bool movesWeights(unsigned value) const {
    return isWeight[value] && !isSumOfWeights[value];
  }

  const Mesh &mesh() const { return meshAttr.getValue(); }
  mlir::func::FuncOp entryOf(const Node &node) const {
    return entries[node.entry];
  }
  int64_t callsOf(const Node &node) const { return entryCalls[node.entry]; }
  /// The uses of a value, and of the values that are the same tensor.
  llvm::SmallVector<SlotUse> usesOfTensor(unsigned value) const;
  mlir::RankedTensorType type(unsigned value) const {
    return mlir::cast<mlir::RankedTensorType>(values[value].getType());
  }
  /// `'tp'`, or `"tp":1:2` for a sub-axis.
  std::string partName(unsigned part) const;
  mlir::Location location(const Node &node) const;
  /// `'attention.wq' output`, `argument #2 (tokens)`.
  std::string describe(const Node &node) const;
};

/// Reads the program and checks its pins. Emits an error at whatever it cannot
/// handle.
mlir::FailureOr<AssignmentGraph>
readAssignmentGraph(llvm::ArrayRef<mlir::func::FuncOp> entries, MeshAttr mesh,
                    bool replicateUnknown);

/// The functions with a body, each of one block, or failure with an error.
mlir::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
functionsOf(mlir::ModuleOp module);

/// The rule of an op that has tensors: its own, or that of an identity for
/// tp.constrain. Emits an error at an op without rule, unless it is to be
/// replicated.
mlir::FailureOr<ShardingRule> ruleOf(mlir::Operation *op,
                                     bool replicateUnknown);

/// Whether the op has a rule of its own.
bool hasRule(mlir::Operation *op);

/// True if the op has tensor slots or results.
bool handlesTensors(mlir::Operation *op);

/// One per mesh axis.
using AxisPins = llvm::SmallVector<std::optional<Pin>, 2>;

/// The pins of an argument or result. Emits an error for one that does not fit
/// the type.
mlir::FailureOr<AxisPins>
portPins(mlir::DictionaryAttr attributes, mlir::RankedTensorType type,
         const Mesh &mesh,
         llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The free ports of an argument or result, one entry per mesh axis.
llvm::SmallVector<std::optional<FreePort>, 2>
freePorts(mlir::DictionaryAttr attributes, const Mesh &mesh);

/// The pins of a tp.constrain.
mlir::FailureOr<AxisPins> constrainPins(ConstrainOp op, const Mesh &mesh);

/// Writes into the rules which of their factors are packed, and how: a
/// dimension that slices and concatenations cut, and a plan pins, can be split
/// segment by segment wherever it goes.
void findSegmentations(AssignmentGraph &graph);

/// Finds the ports that are tied to a parameter.
void findTiedPorts(AssignmentGraph &graph);

/// Cuts axes into the sub-axes over which heads divide where they are fewer
/// than ranks, and gives every node its pins on the parts. Before, nodes have
/// pins on whole axes.
void cutAxes(AssignmentGraph &graph);

/// Finds how often values are brought into another layout: as often as their
/// entry runs, and once in a step what all iterations of a loop bring there
/// alike (tp-hoist-redistributions).
void countCalls(AssignmentGraph &graph);

/// Gives every op its equivalence class.
void findEquivalentOps(AssignmentGraph &graph);

/// True for a constant, an empty, and an op that only overwrites one (a fill,
/// an index computation).
bool isFreeProducer(mlir::Operation *op);

/// Copies every op that makes its results from nothing once per use, so that
/// each use may have its own layout. The copies of one op are adjacent.
using CopyGroups = std::vector<llvm::SmallVector<mlir::Operation *, 4>>;
CopyGroups copyFreeProducers(mlir::func::FuncOp func);
/// Makes one of copies that ended with the same layouts.
void mergeCopies(const CopyGroups &groups);

} // namespace tp::propagate

#endif // TP_LIB_TRANSFORMS_PROPAGATE_GRAPH_ASSIGNMENTGRAPH_H
