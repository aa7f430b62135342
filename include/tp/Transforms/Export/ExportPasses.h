//===- ExportPasses.h - passes of Transforms/Export -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_EXPORT_EXPORTPASSES_H
#define TP_TRANSFORMS_EXPORT_EXPORTPASSES_H

#include "mlir/Pass/Pass.h"

namespace tp {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Transforms/Export/Passes.h.inc"
} // namespace tp

#endif // TP_TRANSFORMS_EXPORT_EXPORTPASSES_H
