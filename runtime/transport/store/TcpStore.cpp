//===- TcpStore.cpp - a rank's side of a TCP store ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TcpStore.h"
#include "tp/Runtime/ArtifactFile.h"
#include <algorithm>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace tp::runtime;

using Clock = StoreConnection::Clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Status TcpStore::join() {
  int64_t bytes = RankMemory(entry).bytes;
  memories = std::vector<LazyMemory>(size());
  mailboxes.assign(size(), std::vector<char>(Transport::mailboxBytes));
  std::vector<char *> places;
  for (int64_t rank = 0; rank < size(); ++rank) {
    if (number == 0 || rank == number)
      if (Status status = memories[rank].map(bytes); !status.ok())
        return status;
    places.push_back(memories[rank].data());
  }
  if (number == 0) {
    server = std::make_unique<StoreServer>(entry, options, places);
    if (Status status = server->start(); !status.ok())
      return status;
  }
  if (Status status = connect(); !status.ok())
    return status;
  waker = Socket(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  thread = std::thread([this] { talk(); });
  return {};
}

Status TcpStore::connect() {
  Clock::time_point begin = Clock::now();
  constexpr double onceSeconds = 5, pauseSeconds = 0.05;
  // An attempt that the limit cuts short says less than one before it.
  Status told;
  for (;;) {
    double left = options.startTimeout - secondsSince(begin);
    Socket socket;
    bool final = false;
    Status status =
        connectTo(options.address, std::clamp(left, 0.01, onceSeconds), socket);
    if (status.ok())
      status = greet(std::move(socket),
                     options.startTimeout - secondsSince(begin), final);
    if (status.ok())
      return {};
    bool cutShort = secondsSince(begin) > options.startTimeout;
    if (final || !cutShort || told.ok())
      told = std::move(status);
    if (final || secondsSince(begin) + pauseSeconds > options.startTimeout) {
      char limit[32];
      std::snprintf(limit, sizeof(limit), "%g", options.startTimeout);
      return {final ? told.code() : Code::Timeout,
              "rank " + std::to_string(number) + " cannot meet rank 0 at " +
                  options.address.text() +
                  (final ? "" : std::string(" within ") + limit + " s") + ": " +
                  told.message()};
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(pauseSeconds));
  }
}

/// `final`: another attempt would end alike. A rank 0 that is slow to answer
/// has taken this rank in when it does: who went away meanwhile would be lost.
Status TcpStore::greet(Socket socket, double seconds, bool &final) {
  auto made = std::make_unique<StoreConnection>(std::move(socket));
  Greeting greeting;
  greeting.artifact = options.artifact;
  greeting.run = checksum(options.run);
  greeting.rank = number;
  greeting.size = size();
  made->queue(MessageKind::Hello, packed(greeting));
  Clock::time_point begin = Clock::now();
  for (;;) {
    std::string why;
    bool open = made->exchange(why);
    Message message;
    if (made->next(message)) {
      if (message.kind == MessageKind::Welcome) {
        connection = std::move(made);
        return {};
      }
      final = message.kind == MessageKind::Refuse;
      return systemError(final ? message.bytes
                               : "what answers is no rank of tp");
    }
    if (!open)
      return systemError(why);
    if (secondsSince(begin) > seconds)
      return systemError("what listens there does not answer");
    pollfd wait = {made->descriptor(),
                   short(made->waiting() ? POLLIN | POLLOUT : POLLIN), 0};
    constexpr int roundMilliseconds = 100;
    poll(&wait, 1, roundMilliseconds);
  }
}

TcpStore::~TcpStore() {
  if (thread.joinable()) {
    {
      std::lock_guard lock(mutex);
      leaving = true;
      // A rank that fails says so; one that says nothing was lost.
      if (ended || failed)
        connection->queue(MessageKind::Leave);
    }
    uint64_t one = 1;
    (void)!write(waker.descriptor(), &one, sizeof(one));
    thread.join();
  }
  // Rank 0 serves until the others have heard.
  connection.reset();
  server.reset();
}

void TcpStore::talk() {
  StateMessage told;
  auto last = Clock::now(), leaveBy = last;
  for (;;) {
    pollfd files[2];
    {
      std::lock_guard lock(mutex);
      files[0] = {connection->descriptor(),
                  short(connection->waiting() ? POLLIN | POLLOUT : POLLIN), 0};
      files[1] = {waker.descriptor(), POLLIN, 0};
    }
    constexpr int roundMilliseconds = 20;
    poll(files, 2, roundMilliseconds);
    uint64_t ignored;
    (void)!read(waker.descriptor(), &ignored, sizeof(ignored));

    std::lock_guard lock(mutex);
    auto now = Clock::now();
    StateMessage state = {here.load(), heartbeats.load()};
    double quiet = std::chrono::duration<double>(now - last).count();
    if (state.command != told.command || state.heartbeats != told.heartbeats ||
        quiet > std::min(1.0, options.timeout / 4)) {
      told = state;
      last = now;
      connection->queue(MessageKind::State, packed(state));
    }
    std::string why;
    bool open = connection->exchange(why);
    for (Message message; connection->next(message);)
      handle(message);
    if (open && now - connection->heard() >
                    std::chrono::duration<double>(options.timeout)) {
      char silent[64];
      std::snprintf(silent, sizeof(silent), "nothing was heard of it for %g s",
                    options.timeout);
      why = silent;
      open = false;
    }
    constexpr std::chrono::seconds grace(1);
    if (!leaving)
      leaveBy = now + grace;
    bool left = leaving && (connection->waiting() == 0 || now > leaveBy);
    if (!open && !ended && !leaving)
      end(lost(why));
    gone = !open || left;
    changed.notify_all();
    if (gone)
      return;
  }
}

/// The first failure stays.
void TcpStore::end(const Failure &cause) {
  if (!failed)
    failed = cause;
  hasFailed.store(true);
}

void TcpStore::queue(MessageKind kind, const std::string &bytes) {
  connection->queue(kind, bytes);
  uint64_t one = 1;
  (void)!write(waker.descriptor(), &one, sizeof(one));
}

void TcpStore::handle(const Message &message) {
  std::string_view bytes = message.bytes;
  bool good = true;
  Failure cause;
  ReleasedMessage answer;
  switch (message.kind) {
  case MessageKind::Released:
    if ((good = unpack(bytes, answer)))
      released = answer;
    break;
  case MessageKind::Here:
    commands.assign(size(), -1);
    for (int64_t &command : commands)
      good = good && take(bytes, command);
    commandsAt = Clock::now();
    break;
  case MessageKind::Abort:
    if ((good = unpack(bytes, cause)))
      end(cause);
    break;
  case MessageKind::Want:
    for (int64_t index; take(bytes, index);)
      if ((good = index >= 0 && index < int64_t(entry.results.size())))
        wanted.push_back(index);
    break;
  case MessageKind::End:
    ended = true;
    break;
  case MessageKind::Pulse:
    break;
  default:
    good = false;
  }
  if (!good)
    end(lost("it sent what it never sends"));
}

Status TcpStore::synchronize(bool loading, int32_t value, double seconds,
                             int32_t &agreed) {
  ArriveMessage arrival;
  arrival.loading = loading;
  arrival.value = value;
  arrival.timeoutSeconds = seconds;
  std::memcpy(arrival.mailbox, mailbox(number), Transport::mailboxBytes);
  std::unique_lock lock(mutex);
  arrival.state = {here.load(), heartbeats.load()};
  released.reset();
  if (!failed)
    queue(MessageKind::Arrive, packed(arrival));
  changed.wait(lock, [&] { return released || failed; });
  if (!released)
    return {failed->code == Code::Timeout && failed->rank == number
                ? Code::Timeout
                : Code::RankFailed,
            failed->message};
  agreed = released->agreed;
  if (number != 0)
    std::memcpy(mailbox(0), released->mailbox, Transport::mailboxBytes);
  else if (loading)
    for (int64_t rank = 1; rank < size(); ++rank)
      server->mailbox(rank).copy(mailbox(rank), Transport::mailboxBytes);
  return {};
}

int64_t TcpStore::progressOf(int64_t rank) {
  if (rank == number)
    return here.load(std::memory_order_relaxed);
  // Asked for when something has gone wrong: what was heard lately will do.
  constexpr std::chrono::milliseconds fresh(100), patience(1000);
  std::unique_lock lock(mutex);
  if (commands.empty() || Clock::now() - commandsAt > fresh) {
    auto asked = Clock::now();
    queue(MessageKind::Where);
    changed.wait_until(lock, asked + patience,
                       [&] { return commandsAt > asked || gone; });
  }
  return commands.empty() ? -1 : commands[rank];
}

void TcpStore::leave() {
  std::lock_guard lock(mutex);
  ended = true;
}

void TcpStore::abort(const Failure &cause) {
  std::unique_lock lock(mutex);
  if (failed)
    return;
  queue(MessageKind::Fail, packed(cause));
  // Another rank may have been first: rank 0 says who was.
  constexpr std::chrono::seconds patience(1);
  changed.wait_for(lock, patience, [&] { return failed || gone; });
  end(cause);
}

void TcpStore::sendResults(std::unique_lock<std::mutex> &lock) {
  RankMemory layout(entry);
  constexpr int64_t piece = int64_t(1) << 19;
  for (int64_t index : std::exchange(wanted, {})) {
    int64_t bytes = entry.results[index].localBytes();
    for (int64_t done = 0; done < bytes && !failed && !gone; done += piece) {
      int64_t offset = layout.results[index] + done;
      queue(MessageKind::Results,
            packed(offset) + std::string(memory(number) + offset,
                                         std::min(piece, bytes - done)));
      changed.wait(lock, [&] {
        return connection->waiting() < size_t(piece) || failed || gone;
      });
    }
  }
  queue(MessageKind::ResultsEnd);
}

Status TcpStore::finish(const std::vector<int64_t> &results) {
  std::unique_lock lock(mutex);
  queue(MessageKind::Report,
        std::string(mailbox(number), Transport::mailboxBytes));
  if (number != 0) {
    while (!failed && !ended) {
      changed.wait(lock, [&] { return failed || ended || !wanted.empty(); });
      if (!wanted.empty())
        sendResults(lock);
    }
    return failed ? Status(Code::RankFailed, failed->message) : Status();
  }
  lock.unlock();
  Status status = server->awaitReports(options.timeout);
  // This rank's own lie where they belong.
  if (status.ok())
    status = server->gather(results, options.timeout);
  for (int64_t rank = 1; rank < size() && status.ok(); ++rank)
    server->mailbox(rank).copy(mailbox(rank), Transport::mailboxBytes);
  lock.lock();
  ended = status.ok();
  return status;
}
