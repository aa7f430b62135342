//===- CrashReport.h - who crashed, and where -------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_LAUNCH_CRASHREPORT_H
#define TP_RUNTIME_LAUNCH_CRASHREPORT_H

#include "tp/Runtime/Transport.h"

namespace tp::runtime {

/// While it lives, a fatal signal in this thread (an illegal instruction, a
/// wild access) is reported with the rank and its command before it ends the
/// process. Ranks that are processes need none: their parent sees it.
class CrashReport {
public:
  CrashReport(const EntryView &entry, Transport &transport, int64_t rank);
  ~CrashReport();
  CrashReport(const CrashReport &) = delete;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_LAUNCH_CRASHREPORT_H
