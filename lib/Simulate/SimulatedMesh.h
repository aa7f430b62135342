//===- SimulatedMesh.h - the mesh of a simulated program --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_SIMULATE_SIMULATEDMESH_H
#define TP_SIMULATE_SIMULATEDMESH_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/TP.h"

namespace tp::simulator {
/// The mesh of a module: its `tp.mesh`, else that of the first layout in it;
/// null where there is none.
MeshAttr findMesh(mlir::ModuleOp module);
/// An error where a mesh has too many ranks to simulate.
mlir::LogicalResult checkMesh(mlir::Operation *op, MeshAttr mesh);
} // namespace tp::simulator

#endif // TP_SIMULATE_SIMULATEDMESH_H
