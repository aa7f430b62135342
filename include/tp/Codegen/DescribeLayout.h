//===- DescribeLayout.h - mesh and layouts in a manifest --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_DESCRIBELAYOUT_H
#define TP_CODEGEN_DESCRIBELAYOUT_H

#include "tp/Runtime/Port.h"
#include "tp/Sharding/Layout.h"

namespace tp::target {

runtime::Mesh describeMesh(const tp::Mesh &mesh);
runtime::AxisPart describePart(const tp::Mesh &mesh, const tp::AxisPart &part);
runtime::Reduction describeReduction(tp::ReductionKind kind);
runtime::PortLayout describeLayout(const tp::Mesh &mesh,
                                   const tp::Layout &layout);

} // namespace tp::target

#endif // TP_CODEGEN_DESCRIBELAYOUT_H
