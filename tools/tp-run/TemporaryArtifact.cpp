//===- TemporaryArtifact.cpp - a .mlir file to an artifact ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TemporaryArtifact.h"
#include "tp/Runtime/Launch/Interrupts.h"
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tp::run;
using namespace tp::runtime;

extern char **environ;

namespace {
// Plain memory: a signal's handler reads it.
char folder[PATH_MAX], file[PATH_MAX];
} // namespace

void TemporaryArtifact::removeAll() {
  if (file[0])
    unlink(file);
  if (folder[0])
    rmdir(folder);
  file[0] = folder[0] = '\0';
}

Status TemporaryArtifact::compile(Options &options) {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  if (length <= 0 || length == sizeof(self))
    return systemError(std::string("cannot find the folder of tp-run: ") +
                       std::strerror(errno));
  std::string program(self, length);
  program = program.substr(0, program.rfind('/') + 1) + "tp-compile";
  if (access(program.c_str(), X_OK) != 0)
    return fileError(program + ": cannot run: " + std::strerror(errno));

  const char *wish = std::getenv("TMPDIR");
  std::string pattern =
      std::string(wish && *wish ? wish : "/tmp") + "/tp-run-XXXXXX";
  constexpr std::string_view name = "/model.tp";
  if (pattern.size() + name.size() >= PATH_MAX)
    return fileError(pattern + ": cannot make a folder: its name is too long");
  {
    InterruptBlock held;
    if (!mkdtemp(pattern.data()))
      return fileError(pattern +
                       ": cannot make a folder: " + std::strerror(errno));
    std::strcpy(folder, pattern.c_str());
    std::strcpy(file, (pattern += name).c_str());
  }

  std::vector<std::string> words = {program, options.artifact, "-o", file};
  for (const auto &[name, value] : {std::pair("--plan=", &options.plan),
                                    std::pair("--mesh=", &options.mesh),
                                    std::pair("--target=", &options.target),
                                    std::pair("--chip=", &options.chip)})
    if (!value->empty())
      words.push_back(name + *value);
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child;
  {
    InterruptBlock held;
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &held.before());
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawn(&child, program.c_str(), nullptr, &attributes,
                            arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    if (error)
      return systemError(program + ": cannot run: " + std::strerror(error));
    registerChild(0, child);
  }
  int waitStatus = 0;
  while (waitpid(child, &waitStatus, 0) < 0)
    if (errno != EINTR)
      return systemError(std::string("cannot wait for tp-compile: ") +
                         std::strerror(errno));
  registerChild(0, 0);
  if (!WIFEXITED(waitStatus) || WEXITSTATUS(waitStatus) != 0)
    return invalidArgument(options.artifact + ": tp-compile failed");
  options.artifact = file;
  return {};
}
