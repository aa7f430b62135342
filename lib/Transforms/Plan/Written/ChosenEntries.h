//===- ChosenEntries.h - plan entries for what tp chose ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_CHOSENENTRIES_H
#define TP_LIB_TRANSFORMS_PLAN_CHOSENENTRIES_H

#include "ModuleIndex.h"
#include "Names/ModuleTree.h"
#include "ParameterUse.h"
#include "tp/IR/PortNames.h"
#include "tp/IR/TP.h"

namespace tp {

/// The entries that ask for the layouts that tp-propagate chose on one axis:
/// those of parameters that the plan left to it, and of results.
class ChosenEntries {
public:
  /// `function` is a program after tp-propagate.
  ChosenEntries(mlir::func::FuncOp function, const ModuleTree &tree,
                unsigned axis, MeshAttr mesh);

  /// With `asModules` as styles of modules if one fits, else as ports. A layout
  /// that no entry can express gets a warning, and a comment instead.
  std::vector<std::string> entries(bool asModules);

private:
  struct ModuleEntry {
    llvm::StringRef module;
    std::string style;
  };

  bool isFree(unsigned argument);
  /// Nothing reads it, and it has the layout that it has without an entry.
  bool isDead(unsigned argument);
  std::optional<Placement> onAxis(LayoutAttr layout) const;
  std::optional<Placement> ofArgument(unsigned number);
  std::optional<Placement> ofResult(unsigned number);
  /// The placements on the axis in which a value is made, and in which a use
  /// takes it.
  std::optional<Placement> made(mlir::Value value);
  std::optional<Placement> taken(mlir::OpOperand &use);
  /// In which layout a partial value ends; it may pass through ops before.
  std::optional<Placement> end(mlir::Value value, bool &passes, int depth = 0);
  /// The layout of an argument that is the weight of a module, and the module;
  /// nothing for another argument.
  std::optional<Placement> ofWeight(unsigned argument, llvm::StringRef &module);
  /// The style of the module that reads a weight, or nothing if no style gives
  /// weight and bias these layouts.
  std::optional<ModuleEntry> styleOf(unsigned weight);
  std::string outputOption(const ParameterUse &use, bool isColumn);
  /// The dimension along which all of a module is split that has no weight of
  /// its own but a vector.
  std::optional<ModuleEntry> sequenceStyleOf(unsigned vector);
  void addModules(llvm::ArrayRef<ModuleEntry> modules);
  void addArgument(unsigned number);
  void addResults();

  mlir::func::FuncOp function;
  const ModuleTree &tree;
  ModuleIndex index;
  unsigned axis;
  MeshAttr mesh;
  PortNames arguments, results;
  std::vector<ParameterUse> uses;
  std::vector<std::string> lines;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_CHOSENENTRIES_H
