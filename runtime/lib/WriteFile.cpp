//===- WriteFile.cpp - a file that is whole or not there ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/ArtifactFile.h"
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
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

Status tp::runtime::writeFileAtomically(const std::string &path,
                                        std::string_view bytes) {
  int descriptor = openBeside(path);
  bool good =
      descriptor >= 0 && writeAll(descriptor, bytes) && name(descriptor, path);
  int error = errno;
  removeUnfinishedFile();
  // Network file systems report some failures of writing only here.
  if (descriptor >= 0 && ::close(descriptor) != 0 && good) {
    error = errno;
    good = false;
    ::unlink(path.c_str());
  }
  return good ? Status()
              : fileError(path + ": cannot write: " + std::strerror(error));
}
