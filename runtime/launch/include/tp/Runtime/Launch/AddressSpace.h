//===- AddressSpace.h - room for the ranks of a process ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_LAUNCH_ADDRESSSPACE_H
#define TP_RUNTIME_LAUNCH_ADDRESSSPACE_H

#include "tp/Runtime/Manifest.h"

namespace tp::runtime {

/// Checks a limit of the address space (ulimit -v) before `threads` ranks start
/// in this process, which maps the memory of `mapped` ranks: OpenBLAS tries
/// forever to get a buffer that it is refused.
Status checkAddressSpace(const EntryView &entry, int64_t threads,
                         int64_t mapped);

} // namespace tp::runtime

#endif // TP_RUNTIME_LAUNCH_ADDRESSSPACE_H
