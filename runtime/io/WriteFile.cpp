//===- WriteFile.cpp - a file that is whole, or a stream ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/OutputFile.h"
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tp::runtime;

namespace {

// Plain memory: a signal's handler reads it.
char unfinished[PATH_MAX];

bool writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0 && errno == EAGAIN) {
      // Of a stream whose other side reads slowly.
      pollfd ready = {descriptor, POLLOUT, 0};
      (void)::poll(&ready, 1, -1);
      continue;
    }
    if (written == 0)
      errno = EIO;
    if (written <= 0)
      return false;
    bytes.remove_prefix(written);
  }
  return true;
}

/// A new file beside `path` that is open for writing, or -1 with errno. Its
/// temporary name is in `unfinished`, if it has one.
int openBeside(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "."
                       : slash == 0               ? "/"
                                                  : path.substr(0, slash);
  int descriptor =
      ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  // What file systems say that have no files without a name.
  if (descriptor >= 0 ||
      (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
    return descriptor;
  std::string pattern = path + ".tmp-XXXXXX";
  if (pattern.size() >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::strcpy(unfinished, pattern.c_str());
  descriptor = mkostemp(unfinished, O_CLOEXEC);
  if (descriptor < 0) {
    unfinished[0] = '\0';
    return -1;
  }
  // mkostemp makes a private file; a result has the usual permissions.
  mode_t mask = umask(0);
  umask(mask);
  (void)fchmod(descriptor, 0666 & ~mask);
  return descriptor;
}

/// Gives the file of `descriptor` the name `path`; false with errno.
bool name(int descriptor, const std::string &path) {
  if (!unfinished[0]) {
    std::string self = "/proc/self/fd/" + std::to_string(descriptor);
    auto link = [&](const char *target) {
      return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, target,
                    AT_SYMLINK_FOLLOW) == 0;
    };
    if (link(path.c_str()))
      return true;
    if (errno != EEXIST)
      return false;
    // Only a rename replaces a file.
    std::string temporary = path + ".tmp-" + std::to_string(getpid());
    if (temporary.size() >= PATH_MAX) {
      errno = ENAMETOOLONG;
      return false;
    }
    std::strcpy(unfinished, temporary.c_str());
    ::unlink(unfinished);
    if (!link(unfinished))
      return false;
  }
  if (::rename(unfinished, path.c_str()) != 0)
    return false;
  unfinished[0] = '\0';
  return true;
}

} // namespace

void tp::runtime::removeUnfinishedFile() {
  if (unfinished[0])
    ::unlink(unfinished);
  unfinished[0] = '\0';
}

namespace {

/// While it lives a pipe that nothing reads is an error of this thread's
/// writes, not a signal.
class PipeSignalBlock {
public:
  PipeSignalBlock() {
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    wasPending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
  }
  /// Leaves errno as it is.
  ~PipeSignalBlock() {
    int error = errno;
    timespec none = {};
    while (!wasPending && sigtimedwait(&pipe, nullptr, &none) < 0 &&
           errno == EINTR)
      ;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
  }
  PipeSignalBlock(const PipeSignalBlock &) = delete;

private:
  sigset_t pipe, before;
  bool wasPending;
};

/// A device or a FIFO; false with errno.
bool writeStream(const std::string &path, std::string_view bytes) {
  int descriptor;
  // A FIFO waits here for its reader.
  do
    descriptor = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0)
    return false;
  struct stat info;
  bool good = fstat(descriptor, &info) == 0;
  if (good && !S_ISCHR(info.st_mode) && !S_ISFIFO(info.st_mode)) {
    // Another file has got the name since it was looked at.
    errno = ESTALE;
    good = false;
  }
  good = good && writeAll(descriptor, bytes);
  int error = errno;
  if (::close(descriptor) != 0 && good)
    return false;
  errno = error;
  return good;
}

/// A new regular file in place of `path`, which `write` fills before it gets
/// the name; false with errno.
template <typename Write>
bool replaceFile(const std::string &path, Write write) {
  int descriptor = openBeside(path);
  bool good = descriptor >= 0 && write(descriptor) && name(descriptor, path);
  int error = errno;
  removeUnfinishedFile();
  // Network file systems report some failures of writing only here.
  if (descriptor >= 0 && ::close(descriptor) != 0 && good) {
    error = errno;
    good = false;
    ::unlink(path.c_str());
  }
  errno = error;
  return good;
}

bool writePlace(const OutputPlace &place, std::string_view bytes) {
  PipeSignalBlock held;
  switch (place.kind) {
  case OutputPlace::Kind::File:
    return replaceFile(place.path, [&](int descriptor) {
      return writeAll(descriptor, bytes);
    });
  case OutputPlace::Kind::Stream:
    return writeStream(place.path, bytes);
  case OutputPlace::Kind::Descriptor:
    return writeAll(place.descriptor, bytes);
  }
  return false;
}

} // namespace

/// Also the folder's entries, so that a new name outlives a loss of power.
static bool syncFolderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "."
                       : slash == 0               ? "/"
                                                  : path.substr(0, slash);
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return false;
  // Some file systems have nothing to write for a folder.
  bool good = fsync(descriptor) == 0 || errno == EINVAL;
  int error = errno;
  ::close(descriptor);
  errno = error;
  return good;
}

Status tp::runtime::writeDurableFile(
    const std::string &path, size_t parts,
    const std::function<Status(size_t, std::string_view &)> &partAt) {
  OutputPlace place;
  if (Status status = findDurablePlace(path, place); !status.ok())
    return status;
  PipeSignalBlock held;
  Status made;
  bool good = replaceFile(place.path, [&](int descriptor) {
    for (size_t i = 0; i < parts; ++i) {
      std::string_view bytes;
      made = partAt(i, bytes);
      if (!made.ok() || !writeAll(descriptor, bytes))
        return false;
    }
    return fsync(descriptor) == 0;
  });
  if (!made.ok())
    return made;
  good = good && syncFolderOf(place.path);
  return good ? Status()
              : fileError(path + ": cannot write: " + std::strerror(errno));
}

Status tp::runtime::findDurablePlace(const std::string &path,
                                     OutputPlace &place) {
  if (Status status = OutputPlace::find(path, place); !status.ok())
    return status;
  if (place.kind == OutputPlace::Kind::File)
    return {};
  return fileError(path + ": is a device, a FIFO or an open descriptor, "
                          "expected a file that is replaced as a whole");
}

Status tp::runtime::writeOutputFile(const std::string &path,
                                    std::string_view bytes) {
  OutputPlace place;
  if (Status status = OutputPlace::find(path, place); !status.ok())
    return status;
  return writePlace(place, bytes)
             ? Status()
             : fileError(path + ": cannot write: " + std::strerror(errno));
}
