//===- FaultTransport.h - a transport on which one rank fails ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests of how the other ranks react to a failure. A run without a fault
// does not have this transport, so that it costs nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FAULTTRANSPORT_H
#define TP_RUNTIME_FAULTTRANSPORT_H

#include "tp/Runtime/Transport.h"

namespace tp::runtime {

/// A failure of one rank at one place of the run.
struct Fault {
  enum Kind {
    None,
    /// The process ends by SIGKILL; with ranks as threads the rank fails.
    Die,
    /// SIGSEGV.
    Crash,
    /// The process ends with exit status 0 before its work is done.
    Exit,
    /// SIGSTOP.
    Stop,
    /// Never comes back.
    Hang,
    /// Does not arrive; comes back when the run has been aborted.
    Absent,
    /// Arrives a quarter of a second later, or half of the time-out.
    Late,
    /// The call returns an error.
    Error,
    /// Arrives with the next different collective of the program.
    Wrong,
  };
  enum Place { AtCommand, AtStart, AtEnd };

  Kind kind = None;
  int64_t rank = 0;
  Place place = AtCommand;
  int64_t command = 0;
  /// At whose end, from 1; 0: at every one.
  int64_t step = 0;
};

/// KIND@RANK:PLACE, kinds in lower case, the place a command's number or
/// `start` (the barrier before the first step) or `end` (where they agree on
/// the status; `end3`: on that of the third step).
std::optional<Fault> parseFault(std::string_view text);

/// Checks the fault against the program: absent, late, error and wrong need a
/// barrier or a collective; wrong needs a collective that can be replaced by
/// another one.
Status checkFault(const EntryView &entry, const Fault &fault);

/// `inner`, which outlives it, with the fault, which is one that checkFault
/// accepts. `processes` says whether a rank may end its process.
std::unique_ptr<Transport> injectFault(Transport &inner, const EntryView &entry,
                                       const Fault &fault, bool processes);

} // namespace tp::runtime

#endif // TP_RUNTIME_FAULTTRANSPORT_H
