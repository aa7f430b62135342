//===- Unfolder.h - gives a folded program its layers back ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LAYERS_UNFOLDER_H
#define TP_LIB_TRANSFORMS_LAYERS_UNFOLDER_H

#include "LayerFolding.h"

namespace tp::layers {
/// Layers of the folded function have the numbers they had up to `copied`, the
/// last one before those left out; the next one is the first one after them.
class Unfolder {
public:
  Unfolder(const LayerFolding &program, mlir::func::FuncOp folded)
      : program(program), folded(folded), block(folded.getBody().front()),
        copied(program.firstOut - 1), copies(program.copies()),
        layers(folded, argumentCorrespondences(program, folded)) {}

  bool canUnfold() const;
  void unfold();
  /// Whether the function is still valid: the inputs of ops and their copies
  /// have the same types as before, and come before them.
  bool isValid();

private:
  static std::vector<Correspondence>
  argumentCorrespondences(const LayerFolding &program,
                          mlir::func::FuncOp folded);
  bool crossesOnlyBetweenNeighbours() const;
  /// The value of a correspondence in a layer of the whole program. Layers up
  /// to `copied` have the numbers of the folded one.
  mlir::Value valueAt(unsigned correspondence, int64_t layer,
                      unsigned result) const;
  mlir::Value returned(const LayerFolding::Port &port) const;
  void addArguments();

  /// An op of the layer that is copied.
  struct CopiedOp {
    mlir::Operation *op;
    unsigned correspondence;
    /// Of the copies.
    mlir::DictionaryAttr attributes;
    llvm::SmallVector<mlir::Value> inputs;
    llvm::SmallVector<Source> sources;
    /// It needs the layer before, itself or through others.
    bool ascends = false;
  };
  void copyOps();
  void findCopiedOps();
  /// Copies come early in the block. What they take and all layers share is
  /// moved before `place`, unless it is computed from layers itself.
  void hoistShared(mlir::Operation *place);
  void insertCopies();
  /// Connects the copies, and the layers next to them, to the layers of the
  /// whole program.
  void rewireAll();
  void rewire(mlir::Operation *op, llvm::ArrayRef<mlir::Value> inputs,
              llvm::ArrayRef<Source> sources, int64_t layer);
  void renameCopies();

  const LayerFolding &program;
  mlir::func::FuncOp folded;
  mlir::Block &block;
  int64_t copied, copies;
  RepeatedLayers layers;
  /// By correspondence: the arguments, or the ops, of layers left out.
  std::vector<llvm::SmallVector<mlir::Value, 0>> newArguments;
  std::vector<llvm::SmallVector<mlir::Operation *, 0>> newOps;
  /// `down` need the next layer, themselves or through others (gradients, and
  /// what is made of them), and come after the corresponding op of that layer;
  /// `up` are all others. Both in the order of the block.
  std::vector<CopiedOp> up, down;
  /// Arguments of the folded function, and those that replace them.
  llvm::SmallVector<std::pair<mlir::BlockArgument, mlir::BlockArgument>, 0>
      replacements;
  llvm::SmallVector<mlir::Attribute> argumentAttributes;
  unsigned numOldArguments = 0;
  /// Numbers of attentions in the folded function are less.
  int64_t numAttentions = 0;
  bool isSorted = false, hasSameTypes = true;
};
} // namespace tp::layers

#endif // TP_LIB_TRANSFORMS_LAYERS_UNFOLDER_H
