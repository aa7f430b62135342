//===- OutputPlace.cpp - what a path that is written names ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/OutputFile.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <optional>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <tuple>
#include <unistd.h>

using namespace tp::runtime;

namespace {

/// As many links as Linux follows in one path.
constexpr int maxLinks = 40;

/// The folder that holds the last name of a path.
std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "."
         : slash == 0               ? "/"
                                    : path.substr(0, slash);
}

std::string realPath(const std::string &path) {
  char *found = realpath(path.c_str(), nullptr);
  std::string text = found ? found : "";
  std::free(found);
  return text;
}

/// The number in a name such as /proc/self/fd/1, if it is of this process.
std::optional<int> ownDescriptor(const std::string &path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.empty() || name.size() > 9 ||
      !std::all_of(name.begin(), name.end(),
                   [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  std::string folder = realPath(folderOf(path));
  if (folder.empty() || (folder != realPath("/proc/self/fd") &&
                         folder != realPath("/proc/thread-self/fd")))
    return std::nullopt;
  return std::stoi(name);
}

Status cannotWrite(const std::string &path, const char *why) {
  return fileError(path + ": cannot write: " + why);
}

/// What the type of a file that exists says of writing to it.
Status checkType(const std::string &path, mode_t mode) {
  if (S_ISDIR(mode))
    return fileError(path + ": is a folder, expected a file to write");
  if (S_ISBLK(mode))
    return fileError(path + ": is a block device, expected a file to write");
  return {};
}

Status findDescriptor(const std::string &given, OutputPlace &place) {
  struct stat info;
  int flags = fcntl(place.descriptor, F_GETFL);
  if (flags < 0 || fstat(place.descriptor, &info) != 0)
    return cannotWrite(given, std::strerror(errno));
  if ((flags & O_ACCMODE) == O_RDONLY)
    return cannotWrite(given, "it is open for reading only");
  return checkType(given, info.st_mode);
}

/// The text of the link `path`, seen from where the link's reader is; empty
/// with errno after a failure.
std::string followLink(const std::string &path) {
  char text[PATH_MAX];
  ssize_t length = readlink(path.c_str(), text, sizeof(text));
  if (length < 0)
    return "";
  if (length == 0 || length == ssize_t(sizeof(text))) {
    errno = length ? ENAMETOOLONG : ENOENT;
    return "";
  }
  std::string target(text, length);
  return target.starts_with('/') ? target : folderOf(path) + "/" + target;
}

/// Links of /proc lead to files that their text need not name.
bool isMagicLink(const std::string &path) {
  struct statfs system;
  return statfs(folderOf(path).c_str(), &system) == 0 &&
         system.f_type == PROC_SUPER_MAGIC;
}

/// One file under all its names; of a file that is still to be made its folder
/// and name.
using Identity = std::tuple<dev_t, ino_t, std::string>;

std::optional<Identity> identityOf(const OutputPlace &place) {
  struct stat info;
  if (place.kind == OutputPlace::Kind::Descriptor) {
    if (fstat(place.descriptor, &info) != 0 || !S_ISREG(info.st_mode))
      return std::nullopt;
    return Identity(info.st_dev, info.st_ino, "");
  }
  if (stat(place.path.c_str(), &info) == 0) {
    if (S_ISCHR(info.st_mode))
      return std::nullopt;
    return Identity(info.st_dev, info.st_ino, "");
  }
  if (stat(folderOf(place.path).c_str(), &info) != 0)
    return std::nullopt;
  return Identity(info.st_dev, info.st_ino,
                  place.path.substr(place.path.rfind('/') + 1));
}

} // namespace

Status OutputPlace::find(const std::string &given, OutputPlace &place) {
  // The system would take what stands before it for the name.
  if (given.find('\0') != std::string::npos)
    return fileError(given + ": a file name cannot hold a zero byte");
  OutputPlace found;
  found.path = given;
  for (int links = 0; links <= maxLinks; ++links) {
    if (std::optional<int> own = ownDescriptor(found.path)) {
      found.kind = Kind::Descriptor;
      found.descriptor = *own;
      Status status = findDescriptor(given, found);
      if (status.ok())
        place = found;
      return status;
    }
    struct stat info;
    bool exists = lstat(found.path.c_str(), &info) == 0;
    if (!exists && errno != ENOENT)
      return cannotWrite(given, std::strerror(errno));
    if (exists && S_ISLNK(info.st_mode)) {
      struct stat behind;
      bool magic = isMagicLink(found.path) &&
                   stat(found.path.c_str(), &behind) == 0 &&
                   !S_ISREG(behind.st_mode);
      if (!magic) {
        found.path = followLink(found.path);
        if (found.path.empty())
          return cannotWrite(given, std::strerror(errno));
        continue;
      }
      info = behind;
    }
    if (exists)
      if (Status status = checkType(given, info.st_mode); !status.ok())
        return status;
    if (exists && S_ISSOCK(info.st_mode))
      return fileError(given + ": is a socket, expected a file to write");
    bool replaced = !exists || S_ISREG(info.st_mode);
    found.kind = replaced ? Kind::File : Kind::Stream;
    std::string folder = folderOf(found.path);
    struct stat parent;
    if (stat(folder.c_str(), &parent) != 0)
      return cannotWrite(given, std::strerror(errno));
    if (found.path.ends_with('/'))
      return fileError(given + ": names a folder, expected a file to write");
    int access =
        replaced ? faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS)
                 : faccessat(AT_FDCWD, found.path.c_str(), W_OK, AT_EACCESS);
    if (access != 0)
      return cannotWrite(given, std::strerror(errno));
    place = found;
    return {};
  }
  return cannotWrite(given, std::strerror(ELOOP));
}

Status tp::runtime::checkOutputs(const std::vector<std::string> &written,
                                 const std::vector<std::string> &read) {
  std::vector<Identity> taken;
  for (const std::string &path : read) {
    // An input that cannot be read is an error of its own.
    OutputPlace place;
    struct stat info;
    bool regular = stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
    if (regular)
      taken.emplace_back(info.st_dev, info.st_ino, "");
    else if (OutputPlace::find(path, place).ok())
      if (std::optional<Identity> identity = identityOf(place))
        taken.push_back(*identity);
  }
  for (const std::string &path : written) {
    OutputPlace place;
    if (Status status = OutputPlace::find(path, place); !status.ok())
      return status;
    std::optional<Identity> identity = identityOf(place);
    if (!identity)
      continue;
    if (std::find(taken.begin(), taken.end(), *identity) != taken.end())
      return invalidArgument(
          path + ": it is read or written too, expected another file to write");
    taken.push_back(*identity);
  }
  return {};
}
