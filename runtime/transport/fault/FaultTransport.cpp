//===- FaultTransport.cpp - a transport on which one rank fails -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/FaultTransport.h"
#include "tp/Runtime/Transport/ForwardingTransport.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <thread>
#include <unistd.h>

using namespace tp::runtime;

namespace {

constexpr const char *kindNames[] = {"none",  "die",  "crash",  "exit",
                                     "stop",  "hang", "absent", "late",
                                     "error", "wrong"};

bool parseNumber(std::string_view text, int64_t &value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

const CollectiveCommand *collectiveAt(const EntryView &entry, int64_t command) {
  return std::get_if<CollectiveCommand>(&entry.program[command].what);
}

/// The next collective, in a circle, of the same group that differs in kind,
/// dtype or size; its input lies in the rank's memory.
const CollectiveCommand *otherCollective(const EntryView &entry,
                                         int64_t command) {
  const CollectiveCommand &here = *collectiveAt(entry, command);
  const Collective &row = entry.collectives[here.collective];
  int64_t count = entry.program.size();
  for (int64_t i = 1; i < count; ++i) {
    const auto *other = collectiveAt(entry, (command + i) % count);
    if (!other || other->input.space == Space::Constant)
      continue;
    const Collective &otherRow = entry.collectives[other->collective];
    if (otherRow.group == row.group &&
        (otherRow.kind != row.kind || otherRow.dtype != row.dtype ||
         other->outer * other->block != here.outer * here.block))
      return other;
  }
  return nullptr;
}

class FaultTransport final : public ForwardingTransport {
public:
  FaultTransport(Transport &inner, const EntryView &entry, const Fault &fault,
                 bool processes)
      : ForwardingTransport(inner), entry(entry), fault(fault),
        processes(processes) {}

  Status collective(int64_t rank, const CollectiveCall &call,
                    double timeoutSeconds) override {
    if (!isHere(rank, Fault::AtCommand, inner.progress(rank)))
      return inner.collective(rank, call, timeoutSeconds);
    if (fault.kind == Fault::Wrong) {
      // Any memory of the rank serves: what it holds is never used.
      const CollectiveCommand *other = otherCollective(entry, fault.command);
      CollectiveCall wrong = {other, &entry.collectives[other->collective],
                              inner.memory(rank), inner.memory(rank)};
      return inner.collective(rank, wrong, timeoutSeconds);
    }
    if (Status status = act(timeoutSeconds); !status.ok())
      return status;
    return inner.collective(rank, call, timeoutSeconds);
  }
  Status agreeOnStatus(int64_t rank, int32_t value, double timeoutSeconds,
                       int32_t &agreed) override {
    if (isHere(rank, Fault::AtEnd) &&
        (++steps == fault.step || fault.step == 0))
      if (Status status = act(timeoutSeconds); !status.ok())
        return status;
    return inner.agreeOnStatus(rank, value, timeoutSeconds, agreed);
  }
  Status barrier(int64_t rank, double timeoutSeconds) override {
    if (isHere(rank, Fault::AtStart))
      if (Status status = act(timeoutSeconds); !status.ok())
        return status;
    return inner.barrier(rank, timeoutSeconds);
  }
  using ForwardingTransport::progress;
  void progress(int64_t rank, int64_t command) override {
    inner.progress(rank, command);
    // All ranks learn of a failure by the abort; this one at its next barrier
    // or collective.
    if (isHere(rank, Fault::AtCommand, command) &&
        !collectiveAt(entry, fault.command))
      (void)act(0);
  }

private:
  bool isHere(int64_t rank, Fault::Place place, int64_t command = 0) const {
    return rank == fault.rank && place == fault.place &&
           (place != Fault::AtCommand || commandOf(command) == fault.command);
  }

  Status fail(const char *what) {
    Failure cause{Code::RankFailed, fault.rank,
                  "rank " + std::to_string(fault.rank) + " " + what + " in " +
                      entry.describe(inner.progress(fault.rank))};
    inner.abort(cause);
    return {cause.code, cause.message};
  }

  Status act(double timeoutSeconds) {
    using std::chrono::milliseconds;
    switch (fault.kind) {
    case Fault::Die:
      if (!processes)
        return fail("died");
      raise(SIGKILL);
      break;
    case Fault::Crash:
      raise(SIGSEGV);
      break;
    case Fault::Exit:
      _exit(0);
    case Fault::Stop:
      raise(SIGSTOP);
      break;
    case Fault::Hang:
      for (;;)
        std::this_thread::sleep_for(milliseconds(1000));
    case Fault::Absent:
      while (!inner.aborted())
        std::this_thread::sleep_for(milliseconds(1));
      return {Code::RankFailed, inner.failure()->message};
    case Fault::Late:
      std::this_thread::sleep_for(
          std::chrono::duration<double>(std::min(0.25, timeoutSeconds / 2)));
      break;
    case Fault::Error:
      return fail("failed");
    case Fault::None:
    case Fault::Wrong:
      break;
    }
    return {};
  }

  const EntryView &entry;
  Fault fault;
  bool processes;
  /// At whose ends the rank has been.
  int64_t steps = 0;
};

} // namespace

std::optional<Fault> tp::runtime::parseFault(std::string_view text) {
  size_t at = text.find('@'), colon = text.find(':', at + 1);
  if (at == std::string_view::npos || colon == std::string_view::npos)
    return std::nullopt;
  Fault fault;
  for (int kind = Fault::Die; kind <= Fault::Wrong; ++kind)
    if (text.substr(0, at) == kindNames[kind])
      fault.kind = Fault::Kind(kind);
  std::string_view place = text.substr(colon + 1);
  if (place == "start")
    fault.place = Fault::AtStart;
  else if (place.starts_with("end")) {
    fault.place = Fault::AtEnd;
    std::string_view step = place.substr(3);
    if (!step.empty() && (!parseNumber(step, fault.step) || fault.step == 0))
      return std::nullopt;
  } else if (!parseNumber(place, fault.command))
    return std::nullopt;
  if (fault.kind == Fault::None ||
      !parseNumber(text.substr(at + 1, colon - at - 1), fault.rank))
    return std::nullopt;
  return fault;
}

Status tp::runtime::checkFault(const EntryView &entry, const Fault &fault) {
  auto error = [&](const std::string &what) {
    return invalidArgument(std::string("fault '") + kindNames[fault.kind] +
                           "': " + what);
  };
  if (fault.rank >= entry.numRanks())
    return error("no rank " + std::to_string(fault.rank) + ", there are " +
                 std::to_string(entry.numRanks()));
  bool atCommand = fault.place == Fault::AtCommand;
  if (atCommand && fault.command >= int64_t(entry.program.size()))
    return error("no command " + std::to_string(fault.command) +
                 ", there are " + std::to_string(entry.program.size()));
  bool atCollective = atCommand && collectiveAt(entry, fault.command);
  if (fault.kind >= Fault::Absent && atCommand && !atCollective)
    return error("ranks do not meet in " + entry.describe(fault.command));
  if (fault.kind == Fault::Wrong &&
      (!atCollective || !otherCollective(entry, fault.command)))
    return error("no other collective of the same group to call instead");
  return {};
}

std::unique_ptr<Transport> tp::runtime::injectFault(Transport &inner,
                                                    const EntryView &entry,
                                                    const Fault &fault,
                                                    bool processes) {
  return std::make_unique<FaultTransport>(inner, entry, fault, processes);
}
