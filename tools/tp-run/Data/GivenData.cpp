//===- GivenData.cpp - whether two ranks are given the same ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data/GivenData.h"
#include "tp/Runtime/ArtifactFile.h"
#include <sys/stat.h>

using namespace tp::run;
using namespace tp::runtime;

static std::string describeFile(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return path + "\n";
  std::string text;
  for (int64_t part :
       {int64_t(info.st_dev), int64_t(info.st_ino), int64_t(info.st_size),
        int64_t(info.st_mtim.tv_sec), int64_t(info.st_mtim.tv_nsec)})
    text += std::to_string(part) + " ";
  return text + "\n";
}

uint64_t tp::run::checksumOfGivenData(const Options &options) {
  std::string text;
  for (const std::string &path : options.weights)
    text += "weights " + describeFile(path);
  if (!options.loadState.empty())
    text += "state " + describeFile(options.loadState);
  text += "prefix " + options.weightsPrefix + "\n";
  for (const NamedFile &input : options.inputs) {
    text += "input " + input.name + "=";
    if (input.literal)
      text += input.text() + "\n";
    else
      text += describeFile(input.path);
    for (const std::string &step : input.steps)
      text += "step " + describeFile(step);
  }
  if (options.rawType)
    text += "raw " + std::to_string(int(*options.rawType)) + "\n";
  if (options.randomSeed)
    text += "random " + std::to_string(*options.randomSeed) + "\n";
  text += "steps " + std::to_string(options.repeat) +
          (options.skipCollectives ? " without collectives" : "");
  return checksum(text);
}
