//===- Binder.h - one plan's entries become pins ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_BINDER_H
#define TP_LIB_TRANSFORMS_PLAN_BINDER_H

#include "Bindings.h"
#include "ModulePorts.h"
#include "ParameterGathers.h"
#include "Parameters/EntryUses.h"
#include "tp/IR/PlanStyle.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/PortNames.h"
#include "llvm/ADT/StringSet.h"

namespace tp {

struct ConvolvedChannels;

/// Binds the plan of one axis to a function. Pins of modules within modules
/// nest: entries with parameters come first, then the others from the
/// innermost module outwards.
class Binder {
public:
  Binder(mlir::func::FuncOp function, const ModuleTree &tree,
         ModuleIndex &index, EntryUses &entryUses, PlanOp plan, MeshAttr mesh,
         std::vector<Binding> &bindings);

  /// `whatIf`: null, or the pin of one value that replaces the plan's
  /// (WhatIf.h).
  mlir::LogicalResult bind(ArgumentOp whatIf = {});

  /// Makes entries of the plan that name nothing of the function no error: it
  /// is one of several, and they may be another's. Those that name something
  /// come into `named`. `read`: the arguments that any of the functions reads.
  void isOneOfSeveral(llvm::DenseSet<mlir::Operation *> &named,
                      const llvm::StringSet<> &read) {
    namedEntries = &named;
    readByAny = &read;
  }
  /// What the plan stores as shards and gathers where it is used; after `bind`.
  llvm::ArrayRef<FullyShardedParameter> fullySharded() const { return sharded; }
  /// Says that an entry names nothing of any function. That is an error, but
  /// for modules that nothing would be computed again of.
  mlir::LogicalResult refuse(mlir::Operation *entry);

private:
  /// An entry on one of its modules.
  struct Item {
    ParallelizeOp entry;
    const StyleName *style;
    llvm::StringRef module;
    size_t binding;
    /// The argument that the entry names in place of a module; `module` is its
    /// name.
    std::optional<unsigned> parameter;
  };
  struct PortPin {
    Placement placement;
    mlir::Operation *entry;
  };
  /// A layout at one side of a boundary.
  struct Layouts {
    std::optional<Placement> outer, inner;
    bool lazy = false;
    /// The user spelled the outer layout out.
    bool isExplicit = false;
    /// The style brings an input into its inner layout whatever it comes in.
    bool bringsInput = false;
  };

  /// Whether the style shards what a weight makes, as colwise, and not what it
  /// takes, as rowwise. It has to do one of both.
  static bool shardsOutputs(const Item &item);
  /// Puts colwise and rowwise entries in place of those with a pairwise style.
  mlir::LogicalResult expandPairwise();
  mlir::LogicalResult expandPairwise(ParallelizeOp entry,
                                     llvm::StringRef module);
  bool isLinear(llvm::StringRef module);
  mlir::LogicalResult collect();
  /// The error of an entry that names no module and no parameter.
  mlir::LogicalResult refuseUnknown(mlir::Operation *entry,
                                    llvm::StringRef pattern);
  /// Fails if what the entry says cannot be said of a parameter.
  mlir::LogicalResult verifyOfParameter(ParallelizeOp entry, unsigned number);
  /// The parameters and buffers that a name or a pattern is of.
  llvm::SmallVector<unsigned> parametersNamed(llvm::StringRef pattern);
  mlir::LogicalResult bindPorts();
  /// What the style means for a parameter that the entry names itself.
  mlir::LogicalResult bindParameter(Item &item, unsigned number);
  /// The dimension that colwise or rowwise shards of such a parameter.
  mlir::FailureOr<unsigned> namedDim(Item &item, unsigned number);
  mlir::LogicalResult bindLocalParameters(Item &item);
  /// The error of a style on a module without the parameters that it is for.
  mlir::LogicalResult refuseModule(Item &item);
  /// What to write in place of a style on a module of several weights.
  std::string entriesInstead(Item &item);
  /// Fails if an entry finds parameters on none of its modules.
  mlir::LogicalResult refuseWithoutEffect();
  /// Whether neither the function nor another one reads the argument.
  bool isDead(mlir::BlockArgument argument) const;
  /// Whether a use of a weight is that of a module that has the weight: of one
  /// of several, where it is tied.
  bool isOfTied(const ParameterUse &use, mlir::BlockArgument weight);
  /// The module's use of this weight, if it is in another function of the
  /// entry.
  const ParameterUse *useInOtherPart(const Item &item,
                                     mlir::BlockArgument weight);
  mlir::LogicalResult bindParameters(Item &item);
  mlir::LogicalResult bindReplicate(Item &item);
  /// Binds a style that shards what a module's weight makes, or takes.
  mlir::LogicalResult bindWeight(Item &item);
  /// Shards the parameters of a module that are stacked over experts.
  mlir::LogicalResult bindExperts(Item &item);
  mlir::LogicalResult shardExperts(Item &item, mlir::BlockArgument weight);
  /// The error of a style on a weight that is stacked over layers, of which
  /// `use` reads a slice: it names the entry to write instead.
  mlir::LogicalResult refuseStacked(Item &item, const ParameterUse &use);
  mlir::LogicalResult refuseConvolution(Item &item, llvm::StringRef weight,
                                        const ConvolvedChannels &channels);
  mlir::LogicalResult bindUse(Item &item, ParameterUse &use);
  /// Pins the module's weight and bias in this function; `use` may be of
  /// another one of the entry.
  mlir::LogicalResult pinParameters(Item &item, const ParameterUse &use,
                                    mlir::BlockArgument weight);
  /// The module's contraction or gather, where it has exactly one.
  ParameterUse *soleUse(Item &item);
  mlir::LogicalResult bindKeywords(Item &item);
  /// Lists of layouts are of the positional inputs and of the outputs, and none
  /// is forgotten.
  mlir::LogicalResult verifyLayoutCounts(Item &item);
  mlir::LogicalResult bindBoundary(Item &item);
  /// The layouts that the options of a `prepare_` style state.
  mlir::LogicalResult bindPrepared(Item &item);
  /// The pins of `context_parallel` (WholeModel/ContextParallel.h).
  mlir::LogicalResult bindContext(Item &item);
  /// Puts a pin behind a value that is at no boundary which the entry names.
  mlir::FailureOr<mlir::Value> pinInside(Item &item, mlir::Value value,
                                         llvm::StringRef port,
                                         llvm::ArrayRef<int64_t> view,
                                         const Placement &placement);
  mlir::LogicalResult bindInput(Item &item, unsigned number,
                                const Layouts &layouts);
  mlir::LogicalResult bindOutput(Item &item, unsigned number,
                                 const Layouts &layouts);
  mlir::LogicalResult checkAgreement();
  mlir::LogicalResult pinWhatIf(ArgumentOp entry);
  mlir::LogicalResult pinWhatIf(ArgumentOp entry, llvm::StringRef module,
                                llvm::StringRef port);
  /// Leaves to tp-propagate how parameters, or their states alone, are sharded
  /// that a tp.fully_shard names.
  mlir::LogicalResult fullyShard();
  /// What an entry matches: modules, or else parameters.
  llvm::SmallVector<llvm::StringRef> modulesOf(FullyShardOp entry);
  /// Says why an entry shards nothing.
  mlir::LogicalResult refuseShard(FullyShardOp entry);
  mlir::LogicalResult
  claimParameters(FullyShardOp entry,
                  llvm::MapVector<unsigned, FullyShardedParameter> &claimed);
  void shardStates(unsigned parameter, FullyShardOp entry);
  llvm::SmallVector<llvm::StringRef> modulesOf(RecomputeOp entry);
  /// Says why an entry computes nothing again; that is an error only where it
  /// matches nothing.
  mlir::LogicalResult refuseRecompute(RecomputeOp entry);
  /// Names the modules that tp-recompute computes again, on the function.
  mlir::LogicalResult recompute();
  /// Those of the module and of the modules inside of it, and a parameter of
  /// that name.
  llvm::SmallVector<unsigned> parametersBelow(llvm::StringRef module);
  /// Frees the parameters that a plan with `auto` does not name.
  void freeParameters();
  /// Gives optimizer states and updated values the layouts of what they belong
  /// to, where the plan has none for them.
  void pinStates();

  /// The parameter uses that are the module's own; several only where the
  /// module runs several times.
  mlir::FailureOr<llvm::SmallVector<ParameterUse *>>
  ownUses(Item &item, mlir::BlockArgument weight);
  mlir::BlockArgument argumentNamed(llvm::StringRef name);
  /// The module's weight or bias, which has one of `names`.
  mlir::BlockArgument memberNamed(llvm::StringRef module,
                                  llvm::ArrayRef<llvm::StringLiteral> names);
  /// The quoted names of the parameters and buffers that are the module's own.
  std::string argumentsOf(llvm::StringRef module);
  /// Of the first `count` ports those that a pattern, or `kind:PATTERN`,
  /// matches; optimizer states by their kind alone.
  static llvm::SmallVector<unsigned>
  matching(const PortNames &names, size_t count, llvm::StringRef pattern);
  /// The port that a name which is none may mean, or an empty string.
  static std::string nearest(const PortNames &names, size_t count,
                             llvm::StringRef text);
  /// The ports that an entry names, by position, name or pattern.
  mlir::FailureOr<llvm::SmallVector<unsigned>>
  portsOf(mlir::Operation *entry, mlir::Attribute port, llvm::StringRef what,
          size_t count, const PortNames &names);
  /// An error at the entry where the port cannot have the placement because it
  /// is partial.
  mlir::LogicalResult checkPartial(PortSide side, unsigned number,
                                   llvm::StringRef what,
                                   const Placement &placement,
                                   mlir::Operation *entry);
  mlir::LogicalResult pinPort(llvm::MapVector<unsigned, PortPin> &pins,
                              unsigned number, llvm::StringRef what,
                              Placement placement, mlir::Operation *entry);
  mlir::LogicalResult pinParameter(Item &item, llvm::StringRef port,
                                   mlir::BlockArgument argument,
                                   const Placement &placement);
  /// It is an error if two entries without parameters give one side of a
  /// boundary different layouts.
  mlir::LogicalResult claimSide(Item &item, llvm::StringRef port, bool isOuter,
                                const Placement &placement);
  mlir::FailureOr<Placement> resolve(mlir::Operation *entry,
                                     const Placement &placement,
                                     const PortView &view,
                                     llvm::StringRef what);
  /// Puts a pin behind `value` and returns the pinned value.
  mlir::FailureOr<mlir::Value> pin(Item &item, mlir::Value value,
                                   const PortView &view,
                                   const Placement &placement,
                                   llvm::StringRef port, bool isOuter,
                                   const Layouts &layouts);
  mlir::LogicalResult pinBoundary(Item &item, mlir::Value value,
                                  llvm::ArrayRef<mlir::OpOperand *> uses,
                                  const PortView &view, llvm::StringRef port,
                                  const Layouts &layouts);
  /// Layout number `index` of an option; none where absent or `none`.
  static std::optional<Placement>
  layoutOption(ParallelizeOp entry, llvm::StringRef option, unsigned index = 0);
  static unsigned layoutCount(ParallelizeOp entry, llvm::StringRef option);

  mlir::func::FuncOp function;
  const ModuleTree &tree;
  ModuleIndex &index;
  EntryUses &entryUses;
  PortNames argumentNames, resultNames;
  PlanOp plan;
  MeshAttr mesh;
  std::vector<Binding> &bindings;
  ModulePorts ports;
  std::vector<ParameterUse> uses;
  /// The same by the value they read and by their module, each in program
  /// order.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<ParameterUse *, 1>> usesOf;
  llvm::DenseMap<llvm::StringRef, llvm::SmallVector<ParameterUse *, 1>> usesIn;
  /// A use of each weight that is stacked over layers.
  llvm::DenseMap<mlir::Value, ParameterUse *> stackedUses;
  llvm::SmallVector<Item> items;
  llvm::MapVector<unsigned, PortPin> argumentPins, resultPins;
  /// What tp-propagate chooses, where the plan leaves it to tp.
  llvm::DenseMap<unsigned, FreePort> freeArguments, freeResults;
  std::vector<FullyShardedParameter> sharded;
  /// Pins the user spelled out, by the entry that did.
  llvm::MapVector<mlir::Operation *, mlir::Operation *> explicitPins;
  llvm::StringMap<PortPin> sides;
  llvm::DenseSet<mlir::Operation *> *namedEntries = nullptr;
  const llvm::StringSet<> *readByAny = nullptr;
  /// Items on modules without the parameters that their style is for.
  llvm::SmallVector<Item *> idle;
};

/// The text of a plan entry that shards an argument, in quotes.
std::string argumentEntry(llvm::StringRef name, unsigned dim);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_BINDER_H
