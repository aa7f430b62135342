//===- StepFiles.cpp - inputs that differ from step to step ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include <algorithm>
#include <cstring>
#include <glob.h>
#include <unistd.h>

using namespace tp::run;
using namespace tp::runtime;

/// In the order of the names; numbers in them count by value.
static std::vector<std::string> filesOf(const std::string &pattern) {
  glob_t found = {};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  std::sort(files.begin(), files.end(),
            [](const std::string &a, const std::string &b) {
              int order = strverscmp(a.c_str(), b.c_str());
              return order != 0 ? order < 0 : a < b;
            });
  return files;
}

std::string NamedFile::text() const {
  std::string before = name.empty() ? "" : name + "=";
  return literal ? before + literal->type + "=" + literal->values
                 : before + "@" + path;
}

Status tp::run::findStepFiles(Options &options) {
  std::string first;
  for (NamedFile &input : options.inputs) {
    if (input.literal || input.path.find_first_of("*?[") == std::string::npos ||
        access(input.path.c_str(), F_OK) == 0)
      continue;
    std::string what = "--input=" + input.text();
    input.steps = filesOf(input.path);
    int64_t count = input.steps.size();
    if (count == 0)
      return invalidArgument(what + ": no file has such a name");
    if ((options.repeatIsGiven || !first.empty()) && options.repeat != count)
      return invalidArgument(what + ": expected a file per step, " +
                             std::to_string(options.repeat) + " by " +
                             (first.empty() ? "--repeat" : first) + ", got " +
                             std::to_string(count));
    options.repeat = count;
    first = what;
    input.path = input.steps.front();
  }
  return {};
}
