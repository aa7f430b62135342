//===- Hardware.cpp - the machine a program is laid out for ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Hardware.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace tp;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Links of collectives
//===----------------------------------------------------------------------===//

Link Hardware::linkOf(llvm::ArrayRef<std::string> axisNames,
                      llvm::ArrayRef<std::vector<int64_t>> groups) const {
  bool isNamed = false, leavesNode = false;
  for (const std::string &axis : axisNames)
    if (auto it = axes.find(axis); it != axes.end()) {
      isNamed = true;
      leavesNode |= it->second == LinkKind::BetweenNodes;
    }
  if (isNamed)
    return leavesNode ? betweenNodes : inNode;
  // Of a group that leaves a node: the fewest of its ranks in any one node.
  std::optional<int64_t> fewest;
  for (const std::vector<int64_t> &group : groups) {
    std::map<int64_t, int64_t> ranksOfNode;
    for (int64_t rank : group)
      ++ranksOfNode[rank / devicesPerNode];
    if (ranksOfNode.size() < 2)
      continue;
    for (auto [node, ranks] : ranksOfNode)
      fewest = std::min(fewest.value_or(ranks), ranks);
  }
  if (!fewest)
    return inNode;
  return {std::min(inNode.bandwidth,
                   betweenNodes.bandwidth * static_cast<double>(*fewest)),
          betweenNodes.latency};
}

Machine Hardware::machineAlong(const Mesh &mesh,
                               llvm::ArrayRef<AxisPart> parts) const {
  std::vector<std::string> names;
  for (AxisPart part : parts)
    names.push_back(mesh.axes[part.axis].name);
  Link link = linkOf(names, mesh.groups(parts));
  Machine rank = machine;
  rank.linkBandwidth = link.bandwidth;
  rank.collectiveLatency = link.latency;
  return rank;
}

std::string Hardware::unknownAxis(const Mesh &mesh) const {
  for (const auto &[axis, kind] : axes)
    if (!mesh.axisByName(axis)) {
      std::vector<std::string> known;
      for (const MeshAxis &each : mesh.axes)
        known.push_back("'" + each.name + "'");
      return "hardware description '" + name + "' names axis '" + axis +
             "', the mesh has " + llvm::join(known, ", ");
    }
  return "";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// Sorted, so that of several problems always the same one is told.
std::set<std::string> keysOf(const json::Object &object) {
  std::set<std::string> keys;
  for (const auto &[key, value] : object)
    keys.insert(key.str());
  return keys;
}

/// Reads fields of one object; the first problem is kept.
class FieldReader {
public:
  FieldReader(const json::Object &object, std::string path, std::string &wrong)
      : object(object), path(std::move(path)), wrong(wrong) {}
  /// Of what nobody asked for.
  ~FieldReader() {
    for (const std::string &key : keysOf(object))
      if (!asked.count(key))
        fail(key, "unknown field, expected one of " + llvm::join(asked, ", "));
  }

  /// A number above `least` (at least it, with `orEqual`), times `unit`.
  double number(llvm::StringRef key, double unit, double least = 0,
                bool orEqual = false) {
    const json::Value *value = find(key);
    if (!value)
      return 1;
    std::optional<double> given = value->getAsNumber();
    if (!given || (orEqual ? *given < least : *given <= least)) {
      std::string range =
          orEqual ? "a number of at least 0" : "a number greater than 0";
      fail(key.str(), "expected " + range + ", got " + text(*value));
      return 1;
    }
    // Beyond any machine, and times would be zero or infinite.
    if (*given > 1e12 || (*given != 0 && *given < 1e-12)) {
      fail(key.str(),
           "expected a number between 1e-12 and 1e12, got " + text(*value));
      return 1;
    }
    return *given * unit;
  }

  int64_t count(llvm::StringRef key) {
    const json::Value *value = find(key);
    if (!value)
      return 1;
    std::optional<int64_t> given = value->getAsInteger();
    if (given && *given >= 1)
      return *given;
    fail(key.str(),
         "expected a whole number of at least 1, got " + text(*value));
    return 1;
  }

  std::string string(llvm::StringRef key) {
    const json::Value *value = find(key);
    if (!value)
      return "";
    if (std::optional<llvm::StringRef> given = value->getAsString();
        given && !given->empty())
      return given->str();
    fail(key.str(), "expected a name, got " + text(*value));
    return "";
  }

  const json::Object *section(llvm::StringRef key, bool isOptional = false) {
    const json::Value *value = find(key, isOptional);
    if (!value)
      return nullptr;
    if (const json::Object *found = value->getAsObject())
      return found;
    fail(key.str(), "expected an object, got " + text(*value));
    return nullptr;
  }

  std::string pathOf(const std::string &key) const {
    return path.empty() ? key : path + "." + key;
  }
  void fail(const std::string &key, const std::string &what) {
    if (wrong.empty())
      wrong = "'" + pathOf(key) + "': " + what;
  }
  static std::string text(const json::Value &value) {
    std::string text;
    llvm::raw_string_ostream(text) << value;
    return text.size() > 40 ? text.substr(0, 40) + "..." : text;
  }

private:
  const json::Value *find(llvm::StringRef key, bool isOptional = false) {
    asked.insert(key.str());
    const json::Value *value = object.get(key);
    if (!value && !isOptional)
      fail(key.str(), "the field is missing");
    return value;
  }

  const json::Object &object;
  std::string path;
  std::string &wrong;
  std::set<std::string> asked;
};

constexpr double giga = 1e9, tera = 1e12, micro = 1e-6;

Link readLink(FieldReader &fields, llvm::StringRef key, std::string &wrong) {
  const json::Object *object = fields.section(key);
  if (!object)
    return {};
  FieldReader link(*object, key.str(), wrong);
  return {link.number("bandwidth_gb_per_s", giga),
          link.number("latency_us", micro, 0, /*orEqual=*/true)};
}

void readAxes(FieldReader &fields, Hardware &hardware) {
  const json::Object *axes = fields.section("axes", /*isOptional=*/true);
  if (!axes)
    return;
  for (const std::string &axis : keysOf(*axes)) {
    const json::Value &value = *axes->get(axis);
    std::optional<llvm::StringRef> kind = value.getAsString();
    if (kind != "in_node" && kind != "between_nodes") {
      fields.fail("axes." + axis,
                  "expected \"in_node\" or \"between_nodes\", got " +
                      FieldReader::text(value));
      return;
    }
    hardware.axes[axis] =
        kind == "in_node" ? LinkKind::InNode : LinkKind::BetweenNodes;
  }
}

void readFields(const json::Object &object, Hardware &hardware,
                std::string &wrong) {
  FieldReader fields(object, "", wrong);
  hardware.name = fields.string("name");
  hardware.devicesPerNode = fields.count("devices_per_node");
  hardware.inNode = readLink(fields, "in_node", wrong);
  hardware.betweenNodes = readLink(fields, "between_nodes", wrong);
  if (const json::Object *rates = fields.section("tera_ops_per_s")) {
    FieldReader reader(*rates, "tera_ops_per_s", wrong);
    for (NumberClass each : allNumberClasses)
      hardware.machine.computeRate[each] = reader.number(toString(each), tera);
  }
  hardware.machine.memoryBandwidth = fields.number("memory_gb_per_s", giga);
  hardware.memoryBytes = saturatingRound(fields.number("memory_gb", giga));
  readAxes(fields, hardware);
}

std::string folderOfDescriptions() {
  static int here;
  llvm::SmallString<128> path(llvm::sys::fs::getMainExecutable(nullptr, &here));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "share", "tp", "hardware");
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return std::string(path);
}

/// Sorted.
std::set<std::string> installedNames() {
  std::set<std::string> names = {"default"};
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folderOfDescriptions(), error), end;
       !error && it != end; it.increment(error))
    if (llvm::sys::path::extension(it->path()) == ".json")
      names.insert(llvm::sys::path::stem(it->path()).str());
  return names;
}
} // namespace

std::optional<Hardware> tp::parseHardware(llvm::StringRef text,
                                          SourceProblem &problem) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    problem.message = "expected JSON: " + llvm::toString(value.takeError());
    return std::nullopt;
  }
  const json::Object *object = value->getAsObject();
  if (!object) {
    problem.message =
        "expected a JSON object, got " + FieldReader::text(*value);
    return std::nullopt;
  }
  Hardware hardware;
  readFields(*object, hardware, problem.message);
  if (!problem.message.empty())
    return std::nullopt;
  return hardware;
}

std::optional<Hardware> tp::readHardware(llvm::StringRef fileOrName,
                                         SourceProblem &problem) {
  if (fileOrName.empty() || fileOrName == "default")
    return Hardware();
  std::string path = fileOrName.str();
  if (!fileOrName.ends_with(".json") && !fileOrName.contains('/')) {
    std::set<std::string> names = installedNames();
    if (!names.count(path)) {
      problem.message = "no hardware description is called '" + path +
                        "', expected one of " + llvm::join(names, ", ") +
                        ", or a .json file";
      return std::nullopt;
    }
    llvm::SmallString<128> installed(folderOfDescriptions());
    llvm::sys::path::append(installed, path + ".json");
    path = std::string(installed);
  }
  std::unique_ptr<llvm::MemoryBuffer> text = readSourceText(path, problem);
  if (!text) {
    problem.message =
        "cannot read the hardware description: " + problem.message;
    return std::nullopt;
  }
  return parseHardware(text->getBuffer(), problem);
}
