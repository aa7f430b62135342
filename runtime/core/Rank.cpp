//===- Rank.cpp - what ranks of all targets share -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Rank.h"
#include <chrono>

using namespace tp::runtime;

double tp::runtime::secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Status RankOptions::check(int64_t rank, int64_t ranks,
                          const Transport &transport) const {
  if (transport.size() != ranks)
    return invalidArgument("the artifact is for " + std::to_string(ranks) +
                           " ranks, the transport has " +
                           std::to_string(transport.size()));
  if (rank < 0 || rank >= ranks)
    return invalidArgument("rank " + std::to_string(rank) + " of " +
                           std::to_string(ranks));
  if (!(timeoutSeconds > 0) || !(startTimeoutSeconds > 0))
    return invalidArgument("the time-out must be positive");
  return {};
}

Rank::Rank(const Artifact &artifact, const EntryView &entry,
           Transport &transport, int64_t rank, const RankOptions &options,
           std::shared_ptr<RankState> state)
    : artifact(artifact), entry(entry), transport(transport), number(rank),
      options(options), state(std::move(state)) {}

Status Rank::withEntry(const EntryView &, std::unique_ptr<Rank> &) const {
  return unsupported("a rank on a device runs one entry, '" + entry.name +
                     "': expected one rank per entry, or an artifact compiled "
                     "with --target=cpu");
}

Status Rank::submit(std::optional<ExternalStream> stream) {
  if (state->submitted)
    return invalidArgument("a step is under way: wait for it first");
  for (size_t i = 0; i < entry.arguments.size(); ++i)
    if (Status status = checkNotLost(int64_t(i)); !status.ok())
      return status;
  Status status = start(stream);
  if (status.ok())
    state->submitted = this;
  return status;
}

Status Rank::wait() {
  if (!state->submitted)
    return invalidArgument("no step was submitted");
  if (state->submitted != this)
    return invalidArgument("the step that was submitted is one of entry '" +
                           state->submitted->entry.name + "': wait for that");
  state->submitted = nullptr;
  Status status = finish();
  if (status.ok())
    status = copyUpdates();
  else if (state->mayHaveWritten)
    loseUpdates();
  // All ranks know of a check that failed; everything else the others must
  // hear of.
  if (!status.ok() && status.code() != Code::Assert)
    abort(status);
  return status;
}

Status Rank::step() {
  Status status = submit();
  return status.ok() ? wait() : status;
}

void Rank::loseUpdates() {
  for (const Port &result : entry.results)
    if (result.update && result.update->inPlace)
      state->lost.insert(entry.tensorOf(result.update->argument));
}

Status Rank::checkNotLost(int64_t argument) const {
  if (!state->lost.contains(entry.tensorOf(argument)))
    return {};
  return invalidArgument("argument '" + portName(entry.arguments, argument) +
                         "' is lost: a step that updates it in place has "
                         "failed; set it again before the next step");
}

Status Rank::copyUpdates() {
  for (size_t i = 0; i < entry.results.size(); ++i) {
    const Port &result = entry.results[i];
    std::optional<int64_t> state = entry.stateOf(int64_t(i));
    if (!state || result.isInPlace())
      continue;
    LocalTensor value{this->result(int64_t(i)), result.localStrides(), space(),
                      device()};
    if (Status status = write(*state, value); !status.ok())
      return status;
  }
  return {};
}

Status Rank::barrier(double timeoutSeconds) {
  return transport.barrier(number, timeoutSeconds);
}

Status Rank::leave(double timeoutSeconds) {
  return transport.leave(number, timeoutSeconds);
}

void Rank::abort(const Status &why) {
  transport.abort({why.code(), number, why.message()});
}

Status Rank::measureCommands(int64_t, StepTimes &) {
  return unsupported(std::string("commands are timed on a device: expected an "
                                 "artifact for target 'cuda', got '") +
                     spelling(entry.manifest.target) + "'");
}

Status Rank::agree(int32_t failedCheck, int64_t command) {
  transport.progress(number, entry.progressAt(command));
  int32_t id = failedCheck;
  if (!options.skipCollectives)
    if (Status failed = transport.agreeOnStatus(number, failedCheck,
                                                options.timeoutSeconds, id);
        !failed.ok())
      return failed;
  if (id == 0)
    return {};
  const Assert *row = entry.findAssert(id);
  if (!row)
    return {Code::Assert, "a check of the program failed (assert " +
                              std::to_string(id) + ")"};
  return {Code::Assert,
          describe(row->message.empty() ? "a check of the program failed"
                                        : row->message + ", in",
                   row->location, row->module)};
}
