//===- Results.cpp - results to files and comparisons ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Results.h"
#include "InputLoader.h"
#include "ResultSummary.h"
#include "tp/Runtime/Launch/HostProgram.h"
#include "tp/Runtime/SafeTensors.h"
#include "tp/Runtime/Slices.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

using namespace tp::run;
using namespace tp::runtime;

namespace {

std::string shortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

std::string indexText(int64_t linear, const std::vector<int64_t> &shape) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    text =
        std::to_string(linear % shape[d]) + (text.empty() ? "" : ", ") + text;
    linear /= shape[d];
  }
  return "[" + text + "]";
}

/// An f32 array may stand for a result of a narrower float: it is the
/// reference.
bool comparable(const Port &port, const Array &expected) {
  bool widened = expected.dtype == DataType::F32 && isFloat(port.dtype) &&
                 byteSize(port.dtype) < 4;
  bool index = expected.dtype == DataType::I64 && port.dtype == DataType::Index;
  return expected.shape == port.shape &&
         (expected.dtype == port.dtype || widened || index);
}

} // namespace

/// The ranks that have a result together, in the order of their first ranks.
static std::vector<std::vector<int64_t>> groupsOf(const EntryView &entry,
                                                  int64_t result) {
  std::vector<std::vector<int64_t>> groups =
      entry.mesh.groups(partialParts(entry.results[result].layout));
  std::sort(groups.begin(), groups.end());
  return groups;
}

/// Calls `use` with the buffer that the ranks of a group have of a result
/// together. Of ranks that are not of this process it is a copy.
template <typename Use>
static Status withResult(const EntryView &entry, int64_t result,
                         const std::vector<int64_t> &group,
                         Transport &transport, const Use &use) {
  int64_t offset = RankMemory(entry).results[result];
  const Port &port = entry.results[result];
  std::vector<std::vector<char>> copies(group.size());
  std::vector<const char *> buffers(group.size());
  for (size_t i = 0; i < group.size(); ++i) {
    if (const char *memory = transport.memory(group[i])) {
      buffers[i] = memory + offset;
      continue;
    }
    copies[i].resize(port.localBytes());
    buffers[i] = copies[i].data();
    if (Status status = transport.copyMemory(
            group[i], offset, port.localBytes(), copies[i].data());
        !status.ok())
      return status;
  }
  use(ReducedBuffer(port, buffers).data());
  return {};
}

Status tp::run::gatherResult(const EntryView &entry, int64_t result,
                             Transport &transport, Array &array) {
  const Port &port = entry.results[result];
  char *bytes = nullptr;
  array = makeArray(port.dtype, port.shape, bytes);
  std::vector<std::vector<int64_t>> groups = groupsOf(entry, result);
  // From the last group on, so that of equal parts the first rank's stays.
  for (size_t i = groups.size(); i-- > 0;) {
    RankSlice slice = port.slice(entry.coordinates(groups[i].front()));
    if (Status status = withResult(entry, result, groups[i], transport,
                                   [&](const char *buffer) {
                                     assemble(slice, buffer, bytes,
                                              array.strides);
                                   });
        !status.ok())
      return status;
  }
  return {};
}

void Comparison::add(double got, double wanted, double atol, double rtol,
                     int64_t index, int64_t rank) {
  ++elements;
  // Equal infinities have no difference to speak of.
  double error = got == wanted ? 0 : std::fabs(got - wanted);
  double excess = error - (atol + rtol * std::fabs(wanted));
  if (std::isnan(error) || std::isnan(excess))
    error = excess = std::numeric_limits<double>::infinity();
  if (got == wanted)
    excess = -1;
  maxError = std::max(maxError, error);
  if (excess <= 0)
    return;
  ++different;
  if (worstIndex >= 0 && excess <= worstExcess)
    return;
  worstIndex = index;
  worstRank = rank;
  worstGot = got;
  worstExpected = wanted;
  worstExcess = excess;
}

void tp::run::compareRank(const RankSlice &slice, int64_t rank,
                          const char *buffer, const Array &expected,
                          double atol, double rtol, Comparison &comparison) {
  bool exact = !isFloat(slice.dtype) && byteSize(slice.dtype) == 8;
  forEachValid(slice, [&](int64_t global, int64_t local) {
    double got = elementAsDouble(slice.dtype, buffer, local);
    double wanted = elementAsDouble(expected.dtype, expected.data, global);
    if (exact && got == wanted) {
      // Two large integers may be one double: their difference is exact.
      __int128 a = elementAsInteger(slice.dtype, buffer, local);
      __int128 b = elementAsInteger(expected.dtype, expected.data, global);
      if (isUnsigned(slice.dtype)) {
        a = uint64_t(a);
        b = uint64_t(b);
      }
      got = wanted + double(a - b);
      if (a != b && got == wanted)
        got = std::nextafter(wanted, a > b ? INFINITY : -INFINITY);
    }
    comparison.add(got, wanted, atol, rtol, global, rank);
  });
}

static bool isSafeTensors(const std::string &path) {
  return path.ends_with(".safetensors");
}

/// The keys of a result in a file of several tensors. A new value has those of
/// the argument that it updates, so that --weights and --input read it again.
static std::vector<std::string> resultKeys(const EntryView &entry,
                                           int64_t result) {
  std::vector<std::string> keys;
  if (const std::optional<Update> &update = entry.results[result].update)
    keys = tensorKeys(entry.arguments[update->argument]);
  keys.push_back(portName(entry.results, result));
  keys.push_back(entry.results[result].name);
  return keys;
}

static Status sharedKey(const std::string &key, const std::string &first,
                        const std::string &second) {
  return invalidArgument("results '" + first + "' and '" + second +
                         "' both have the key '" + key +
                         "': give one of them another file");
}

/// Whether a result goes to a device, a FIFO or an open descriptor, whose name
/// tells no form: a .npy file is written.
static bool isStream(const std::string &path) {
  if (path.starts_with("/dev/") || path.starts_with("/proc/self/fd/"))
    return true;
  std::error_code error;
  std::filesystem::file_type type = std::filesystem::status(path, error).type();
  return type == std::filesystem::file_type::character ||
         type == std::filesystem::file_type::fifo;
}

static Status checkOutputFiles(const Options &options, const EntryView &entry,
                               const std::vector<int64_t> &outputs) {
  // By file and key.
  std::map<std::pair<std::string, std::string>, int64_t> written;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string &path = options.outputs[i].path;
    if (!path.ends_with(".npy") && !isSafeTensors(path) && !isStream(path))
      return invalidArgument(
          path + ": expected the name of a .npy or .safetensors file");
    if (path.find_first_of("*?") != std::string::npos)
      return invalidArgument(
          path + ": expected the name of one file, got a pattern: give a file "
                 "for each result, or one .safetensors file for several");
    if (!isSafeTensors(path))
      continue;
    std::string key = resultKeys(entry, outputs[i]).front();
    if (Status status = checkSafeTensor(key, entry.results[outputs[i]].dtype);
        !status.ok())
      return status.within(path);
    auto [other, isNew] = written.emplace(std::pair(path, key), outputs[i]);
    if (!isNew)
      return sharedKey(key, portName(entry.results, other->second),
                       portName(entry.results, outputs[i]))
          .within(path);
  }
  return {};
}

Status ResultRequests::open(const Options &options, const EntryView &entry,
                            ResultRequests &requests) {
  ResultRequests opened;
  std::vector<int64_t> order;
  for (size_t i = 0; i < entry.results.size(); ++i)
    order.push_back(i);
  if (Status status = bindFiles(options.outputs, entry.results, order,
                                "--output", "result", opened.outputs);
      !status.ok())
    return status;
  if (Status status = bindFiles(options.expected, entry.results, order,
                                "--expected-output", "result", opened.compared);
      !status.ok())
    return status;
  if (Status status = checkOutputFiles(options, entry, opened.outputs);
      !status.ok())
    return status.within("--output");
  for (size_t i = 0; i < opened.compared.size(); ++i) {
    const Port &port = entry.results[opened.compared[i]];
    const std::string &path = options.expected[i].path;
    Array array;
    if (Status status =
            readArrayFile(path, resultKeys(entry, opened.compared[i]),
                          options.rawType, array);
        !status.ok())
      return status;
    if (!comparable(port, array))
      return invalidArgument(path + ": result '" +
                             portName(entry.results, opened.compared[i]) +
                             "' is " + describeType(port.dtype, port.shape) +
                             ", the file holds " + describeType(array));
    opened.expected.push_back(rowMajor(array));
  }
  // Of random data, and without collectives, they mean nothing.
  if (options.outputs.empty() && options.expected.empty() && !options.quiet &&
      !options.randomSeed && !options.skipCollectives)
    opened.summarised = order;
  requests = std::move(opened);
  return {};
}

std::vector<int64_t> ResultRequests::results() const {
  std::set<int64_t> numbers(outputs.begin(), outputs.end());
  numbers.insert(compared.begin(), compared.end());
  numbers.insert(summarised.begin(), summarised.end());
  return {numbers.begin(), numbers.end()};
}

bool ResultRequests::printsNothing(const Options &options) const {
  return !options.quiet && !options.stats && compared.empty() &&
         summarised.empty();
}

Status ResultRequests::write(const Options &options, const EntryView &entry,
                             Transport &transport) const {
  std::map<std::string, std::map<std::string, Array>> tensors;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string &path = options.outputs[i].path;
    Array array;
    if (Status status = gatherResult(entry, outputs[i], transport, array);
        !status.ok())
      return status;
    if (isSafeTensors(path))
      tensors[path].emplace(resultKeys(entry, outputs[i]).front(),
                            std::move(array));
    else if (Status status = writeNpy(path, array); !status.ok())
      return status;
  }
  for (const auto &[path, arrays] : tensors)
    if (Status status = writeSafeTensors(path, arrays); !status.ok())
      return status;
  return {};
}

Status ResultRequests::finish(const Options &options, const EntryView &entry,
                              Transport &transport) const {
  if (Status status = write(options, entry, transport); !status.ok())
    return status;
  constexpr size_t mostSummarised = 12;
  for (size_t i = 0; i < std::min(summarised.size(), mostSummarised); ++i) {
    Array array;
    if (Status status = gatherResult(entry, summarised[i], transport, array);
        !status.ok())
      return status;
    std::puts(summary(portName(entry.results, summarised[i]), array).c_str());
  }
  if (summarised.size() > mostSummarised)
    std::printf("and %zu more results\n", summarised.size() - mostSummarised);
  Status mismatch;
  for (size_t i = 0; i < compared.size(); ++i) {
    const Port &port = entry.results[compared[i]];
    std::string name = portName(entry.results, compared[i]);
    Comparison comparison;
    int64_t holders = 0;
    for (const std::vector<int64_t> &group : groupsOf(entry, compared[i])) {
      int64_t before = comparison.elements;
      RankSlice slice = port.slice(entry.coordinates(group.front()));
      auto compare = [&](const char *buffer) {
        compareRank(slice, group.front(), buffer, expected[i], options.atol,
                    options.rtol, comparison);
      };
      if (Status status =
              withResult(entry, compared[i], group, transport, compare);
          !status.ok())
        return status;
      if (comparison.elements != before)
        holders += int64_t(group.size());
    }
    std::string reduced;
    if (std::optional<Reduction> reduction = partialReduction(port.layout))
      reduced = std::string(", reduced by ") + spelling(*reduction);
    if (comparison.different == 0) {
      if (!options.quiet)
        std::printf("%s: equal, %s, max abs error %.3g (atol %g, rtol %g), on "
                    "%lld rank%s%s\n",
                    name.c_str(), describeType(port.dtype, port.shape).c_str(),
                    comparison.maxError, options.atol, options.rtol,
                    (long long)holders, holders == 1 ? "" : "s",
                    reduced.c_str());
      continue;
    }
    std::string message =
        "result '" + name + "' differs from " + options.expected[i].path +
        " in " + std::to_string(comparison.different) + " of " +
        std::to_string(comparison.elements) + " elements, worst at " +
        indexText(comparison.worstIndex, port.shape) + " on rank " +
        std::to_string(comparison.worstRank).append(reduced) + ": expected " +
        shortNumber(comparison.worstExpected) + ", got " +
        shortNumber(comparison.worstGot) + " (allowed difference " +
        shortNumber(options.atol +
                    options.rtol * std::fabs(comparison.worstExpected)) +
        ")";
    // Several mismatches are all shown; the last one ends the run.
    if (!mismatch.ok())
      printError(mismatch.message());
    mismatch = Status(Code::InvalidArgument, message);
  }
  return mismatch;
}
