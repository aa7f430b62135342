//===- PartialPorts.h - which ports may be partial --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_PORTS_PARTIALPORTS_H
#define TP_LIB_TRANSFORMS_PLAN_PORTS_PARTIALPORTS_H

#include "tp/IR/PortNames.h"
#include "tp/IR/TP.h"

namespace tp {

/// Why an argument or a result, a tensor, cannot have `placement` on `axis`:
/// empty where it can, as it can be all that is not partial. What the port is
/// pinned to on other axes counts.
std::string whyNotPartial(mlir::func::FuncOp function, PortSide side,
                          unsigned port, llvm::StringRef axis,
                          const Placement &placement);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_PORTS_PARTIALPORTS_H
