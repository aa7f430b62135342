//===- FolderMeeting.cpp - how a rank finds the others --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FolderMeeting.h"
#include "tp/Runtime/ArtifactFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace tp::runtime;

namespace {

constexpr const char *magic = "tp-ranks";
constexpr std::chrono::milliseconds betweenLooks(10);

/// The whole file, or nothing if there is none.
Status readWhole(const std::string &path, std::optional<std::string> &text) {
  text.reset();
  std::ifstream file(path);
  if (!file)
    return errno == ENOENT ? Status()
                           : fileError(path + ": " + std::strerror(errno));
  std::ostringstream bytes;
  bytes << file.rdbuf();
  text = bytes.str();
  return {};
}

bool holds(const std::string &path, const std::string &text) {
  std::optional<std::string> now;
  return readWhole(path, now).ok() && now == text;
}

/// A file that does not exist yet; false with `errno` if it cannot be.
bool writeNew(const std::string &path, const std::string &text) {
  int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0)
    return false;
  // At once: it is shorter than a page.
  bool complete =
      ::write(file, text.data(), text.size()) == ssize_t(text.size());
  int error = errno;
  close(file);
  errno = error;
  return complete;
}

uint64_t randomNumber() {
  std::random_device device;
  return uint64_t(device()) << 32 | device();
}

} // namespace

std::string FolderFile::text() const {
  return std::string(magic) + " " + std::to_string(segment) + " " +
         std::to_string(process.number) + " " + std::to_string(process.start) +
         " " + std::to_string(descriptor) + "\n";
}

std::optional<FolderFile> FolderFile::parse(const std::string &text) {
  std::istringstream words(text);
  std::string first;
  FolderFile file;
  if (!(words >> first >> file.segment >> file.process.number >>
        file.process.start >> file.descriptor) ||
      file.text() != text)
    return std::nullopt;
  return file;
}

FolderMeeting::FolderMeeting(const FolderOptions &options, int64_t rank,
                             int64_t size)
    : options(options), rank(rank), path(options.folder + "/tp-ranks"),
      head(size) {}

FolderMeeting::~FolderMeeting() {
  withdraw();
  if (opened >= 0)
    close(opened);
}

bool FolderMeeting::isLate() const {
  return std::chrono::duration<double>(Clock::now() - begin).count() >
         options.startTimeout;
}

Status FolderMeeting::cannotMeet(const std::string &why) const {
  return invalidArgument("rank " + std::to_string(rank) +
                         " cannot meet rank 0 in " + options.folder + ": " +
                         why);
}

Status FolderMeeting::leftOver(const FolderFile &file) const {
  return fileError(path + ": it is left from a run whose rank 0, " +
                   file.process.text() +
                   ", has ended: remove it or give another folder");
}

Status FolderMeeting::taken(const FolderFile &file) const {
  if (!file.process.runs())
    return leftOver(file);
  return fileError(path + ": rank 0 has come already, as " +
                   file.process.text() + ": give each run a folder of its own");
}

Status FolderMeeting::checkFolder() const {
  struct stat info;
  int error = stat(options.folder.c_str(), &info) != 0 ? errno
              : S_ISDIR(info.st_mode)                  ? 0
                                                       : ENOTDIR;
  return error == 0 ? Status()
                    : fileError(options.folder + ": " + std::strerror(error) +
                                " (the folder of a store has to exist)");
}

Status FolderMeeting::read(std::optional<FolderFile> &file) const {
  std::optional<std::string> text;
  if (Status status = readWhole(path, text); !status.ok())
    return status;
  file = text ? FolderFile::parse(*text) : std::nullopt;
  if (text && !file)
    return fileError(path + ": expected the file of a rank 0: remove it or "
                            "give another folder");
  return {};
}

Status FolderMeeting::invite(int descriptor) {
  if (Status status = checkFolder(); !status.ok())
    return status;
  if (!head.map(descriptor))
    return systemError("cannot map the shared memory");
  FolderFile file = {randomNumber(), ProcessIdentity::own(), descriptor};
  head.control().identity = {file.segment, head.ranks(), checksum(options.run),
                             options.artifact, options.data};
  head.rankState(0).holder = file.process.packed();
  // Under a name of its own first: whoever finds the file finds all of it, and
  // a rank 0 that is killed leaves no part of it.
  std::string beside = path + "." + std::to_string(file.segment);
  auto cannotWrite = [&] {
    return fileError(path + ": cannot write: " + std::strerror(errno));
  };
  Status status = writeNew(beside, file.text()) ? Status() : cannotWrite();
  while (status.ok() && link(beside.c_str(), path.c_str()) != 0) {
    if (errno != EEXIST) {
      status = cannotWrite();
      break;
    }
    std::optional<FolderFile> other;
    status = read(other);
    if (status.ok() && other)
      status = taken(*other);
    // Or it is gone by now.
  }
  unlink(beside.c_str());
  if (status.ok())
    written = file.text();
  return status;
}

void FolderMeeting::withdraw() {
  // Not the file of a run that came after somebody had removed this one.
  if (!written.empty() && holds(path, written))
    unlink(path.c_str());
  written.clear();
}

Status FolderMeeting::find() {
  for (;;) {
    if (Status status = checkFolder(); !status.ok())
      return status;
    std::optional<FolderFile> file;
    if (Status status = read(file); !status.ok())
      return status;
    if (file) {
      Status status = open(*file);
      // Rank 0 may have removed it, and ended, meanwhile.
      if (status.ok() || holds(path, file->text()))
        return status;
    }
    if (isLate())
      return {Code::Timeout, "rank " + std::to_string(rank) + " found no " +
                                 path + " of rank 0 in time"};
    std::this_thread::sleep_for(betweenLooks);
  }
}

Status FolderMeeting::open(const FolderFile &file) {
  if (!file.process.runs())
    return leftOver(file);
  std::string place = "/proc/" + std::to_string(file.process.number) + "/fd/" +
                      std::to_string(file.descriptor);
  int descriptor = ::open(place.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT)
    return leftOver(file);
  if (descriptor < 0)
    return systemError("cannot open the memory of rank 0, " + place + ": " +
                       std::strerror(errno) +
                       " (is it on this host, and the same user's?)");
  // The head of any run starts with these words.
  SegmentHead first(1);
  bool isOfFile =
      first.map(descriptor) && first.control().identity.segment == file.segment;
  int64_t ranks = isOfFile ? first.control().identity.ranks : 0;
  if (ranks == head.ranks() && head.map(descriptor)) {
    opened = descriptor;
    return {};
  }
  close(descriptor);
  return isOfFile
             ? cannotMeet("rank " + std::to_string(rank) + " of " +
                          std::to_string(head.ranks()) + ", rank 0 expects " +
                          std::to_string(ranks) + " ranks")
             : leftOver(file);
}

static std::string holderOf(const SegmentHead &head, int64_t rank) {
  return ProcessIdentity::unpack(head.rankState(rank).holder.load()).text();
}

Status FolderMeeting::claim() {
  if (head.control().identity.run != checksum(options.run))
    return cannotMeet("rank 0, " + holderOf(head, 0) +
                      ", belongs to another run");
  uint64_t free = 0;
  if (head.rankState(rank).holder.compare_exchange_strong(
          free, ProcessIdentity::own().packed()))
    return {};
  return cannotMeet("rank " + std::to_string(rank) + " has come already, as " +
                    holderOf(head, rank) +
                    ": give each run a folder of its own");
}

Status FolderMeeting::checkEqual() {
  const RunIdentity &run = head.control().identity;
  const char *difference =
      run.artifact != options.artifact ? "runs another artifact"
      : run.data != options.data
          ? "is given other weights, inputs, state or steps"
          : nullptr;
  if (!difference)
    return {};
  Failure failure{Code::InvalidArgument, rank,
                  "rank " + std::to_string(rank) + ", " + holderOf(head, rank) +
                      ", " + difference + " than rank 0, " + holderOf(head, 0)};
  fail(failure);
  return {failure.code, failure.message};
}

void FolderMeeting::awaitClaims() const {
  auto claimed = [&] {
    for (int64_t other = 0; other < head.ranks(); ++other)
      if (head.rankState(other).holder.load() == 0)
        return false;
    return true;
  };
  while (!claimed() && !isLate())
    std::this_thread::sleep_for(betweenLooks);
}
