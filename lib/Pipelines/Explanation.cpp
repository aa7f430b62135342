//===- Explanation.cpp - why there are collectives ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Pipelines/Explanation.h"
#include "Memory/MemoryChoices.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tp;
using llvm::ArrayRef;
using llvm::StringRef;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Totals
//===----------------------------------------------------------------------===//

static StringRef textOf(const json::Object &object, StringRef key) {
  return object.getString(key).value_or("");
}

static int64_t numberOf(const json::Object &object, StringRef key) {
  return object.getInteger(key).value_or(0);
}

static const json::Array &listOf(const json::Object &object, StringRef key) {
  static const json::Array none;
  const json::Array *list = object.getArray(key);
  return list ? *list : none;
}

/// Whether no plan entry asks for any of the conversions that it makes.
static bool isImplicit(const json::Object &collective) {
  const json::Object *cause = collective.getObject("cause");
  if (!cause)
    return false;
  const json::Array &changes = listOf(*cause, "changes");
  return !changes.empty() &&
         llvm::all_of(changes, [](const json::Value &change) {
           return change.getAsObject()->get("implicit");
         });
}

static void add(TrafficTotal &total, const json::Object &collective) {
  int64_t count = collective.getInteger("count").value_or(1);
  total.count += count;
  total.implicit += isImplicit(collective) ? count : 0;
  total.ringBytes += count * numberOf(collective, "ring_bytes_per_rank");
  total.microseconds +=
      static_cast<double>(count) * collective.getNumber("time_us").value_or(0);
}

std::vector<std::pair<std::string, TrafficTotal>>
tp::trafficBy(StringRef key, const json::Object &report) {
  std::vector<std::pair<std::string, TrafficTotal>> totals;
  for (const json::Value &value : listOf(report, "collectives")) {
    const json::Object &collective = *value.getAsObject();
    std::string name = textOf(collective, key).str();
    auto it = llvm::find_if(
        totals, [&](const auto &total) { return total.first == name; });
    if (it == totals.end())
      it = totals.insert(it, {name, TrafficTotal()});
    add(it->second, collective);
  }
  return totals;
}

TrafficTotal tp::trafficOf(const json::Object &report) {
  TrafficTotal total;
  for (const json::Value &value : listOf(report, "collectives"))
    add(total, *value.getAsObject());
  return total;
}

static json::Object toJSON(const TrafficTotal &total) {
  return json::Object{{"count", total.count},
                      {"implicit", total.implicit},
                      {"ring_bytes_per_rank", total.ringBytes},
                      {"time_us", total.microseconds}};
}

json::Object tp::makeExplanation(const json::Object &report) {
  json::Object explanation;
  explanation["mesh"] = *report.get("mesh");
  explanation["hardware"] = *report.getObject("cost")->get("hardware");
  explanation["collectives"] = *report.get("collectives");
  json::Array modules;
  for (const auto &[module, total] : trafficBy("module", report)) {
    json::Object row = toJSON(total);
    row["module"] = module;
    modules.push_back(std::move(row));
  }
  explanation["modules"] = std::move(modules);
  explanation["total"] = toJSON(trafficOf(report));
  return explanation;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// A name, or a location as module and name.
static std::string placeText(StringRef module, StringRef name) {
  return llvm::join(
      llvm::make_filter_range(ArrayRef<StringRef>{module, name},
                              [](StringRef part) { return !part.empty(); }),
      " ");
}

static std::string placeText(const json::Value *place) {
  if (!place)
    return "";
  if (std::optional<StringRef> name = place->getAsString())
    return name->str();
  const json::Object *location = place->getAsObject();
  if (!location)
    return "";
  return placeText(textOf(*location, "module"), textOf(*location, "location"));
}

static std::string joined(const json::Array &list) {
  std::vector<std::string> texts;
  for (const json::Value &value : list)
    texts.push_back(value.getAsString().value_or("").str());
  return llvm::join(texts, ", ");
}

static std::string signedText(int64_t number) {
  return llvm::formatv("{0}{1}", number < 0 ? "" : "+", number);
}

static void writeList(StringRef what, StringRef key, const json::Object &best,
                      llvm::raw_ostream &os) {
  for (const json::Value &value : listOf(best, key)) {
    const json::Object &entry = *value.getAsObject();
    os << "      " << what << " " << textOf(entry, "kind") << " of "
       << placeText(entry.get("of")) << " over " << textOf(entry, "axis")
       << ", " << textOf(entry, "from") << " to " << textOf(entry, "to") << ", "
       << numberOf(entry, "ring_bytes_per_rank") << " bytes";
    if (int64_t times = numberOf(entry, "times"))
      os << ", " << times << " times";
    os << "\n";
  }
  if (int64_t more = numberOf(best, ("more_" + key).str()))
    os << "      " << what << " " << more << " more\n";
}

static void writeNextBest(const json::Value *best, llvm::raw_ostream &os) {
  const json::Object *found = best ? best->getAsObject() : nullptr;
  if (!found) {
    StringRef why = best ? best->getAsString().value_or("") : "";
    os << "    else no other choice"
       << (why == "too large" ? " was found: the solver's tables are too large"
           : why == "not tried" ? " was looked for: too many collectives"
                                : "")
       << "\n";
    return;
  }
  os << "    else " << signedText(numberOf(*found, "ring_bytes_per_rank"))
     << " bytes, "
     << llvm::formatv("{0}{1:F1} us",
                      numberOf(*found, "time_ps") < 0 ? "" : "+",
                      double(numberOf(*found, "time_ps")) / 1e6)
     << "\n";
  writeList("with", "with", *found, os);
  writeList("without", "without", *found, os);
  if (listOf(*found, "with").empty() && listOf(*found, "without").empty())
    os << "      with the same collectives; ops are split in other "
          "dimensions\n";
}

static void writeCause(const json::Object &cause, llvm::raw_ostream &os) {
  for (const json::Value &value : listOf(cause, "uses")) {
    const json::Object &use = *value.getAsObject();
    os << "  for " << textOf(use, "what");
    std::string place =
        placeText(use.get("at") ? use.get("at") : use.get("name"));
    if (!place.empty())
      os << (use.get("at") ? " at " : " of ") << place;
    os << "\n";
  }
  for (const json::Value &value : listOf(cause, "changes")) {
    const json::Object &change = *value.getAsObject();
    os << "  " << textOf(change, "axis") << ": " << textOf(change, "from")
       << " to " << textOf(change, "to") << "\n";
    if (std::optional<StringRef> advice = change.getString("implicit"))
      os << "    implicit: no plan entry asks for it"
         << (advice->empty() ? "" : "; ") << *advice << "\n";
    for (const json::Value &each : listOf(change, "chosen")) {
      const json::Object &chosen = *each.getAsObject();
      os << "    chosen by auto: " << textOf(chosen, "what") << " "
         << textOf(chosen, "name") << " to " << textOf(chosen, "layout")
         << "\n";
    }
    if (StringRef taken = textOf(change, "taken"); !taken.empty())
      os << "    all that read it take " << taken << " of it\n";
    for (const json::Value &each : listOf(change, "pins")) {
      const json::Object &pin = *each.getAsObject();
      StringRef what = textOf(pin, "what"), entry = textOf(pin, "entry");
      if (what == "argument" && entry.empty() &&
          textOf(pin, "layout") == "replicate") {
        os << "    replicated, no entry names it: argument "
           << textOf(pin, "name") << "\n";
        continue;
      }
      os << "    pinned " << what
         << (what == "argument" || what == "result" ? " " : " of ")
         << textOf(pin, "name") << " to " << textOf(pin, "layout");
      if (!entry.empty())
        os << " by " << entry;
      if (const json::Object *standard = pin.getObject("default"))
        os << ", the default of " << textOf(*standard, "style") << "'s "
           << textOf(*standard, "option");
      os << "\n";
    }
    writeNextBest(change.get("next_best"), os);
  }
  if (const json::Object *cheaper = cause.getObject("cheaper"))
    os << "  to send " << -numberOf(*cheaper, "ring_bytes_per_rank")
       << " bytes less in all, write " << textOf(*cheaper, "advice") << "\n";
  else if (int64_t tried = numberOf(cause, "plans_tried"))
    os << "  no change of its entries sends less (" << tried << " tried)\n";
}

/// The values that it converts, where it stands at another place.
static std::string valueText(const json::Object &collective) {
  std::string place =
      placeText(textOf(collective, "module"), textOf(collective, "loc"));
  std::vector<std::string> values;
  if (const json::Object *cause = collective.getObject("cause"))
    for (const json::Value &change : listOf(*cause, "changes"))
      if (std::string value = placeText(change.getAsObject()->get("of"));
          !value.empty() && value != place &&
          !llvm::is_contained(values, value))
        values.push_back(value);
  if (values.empty())
    return "";
  std::string text = ", of " + values.front();
  if (values.size() > 1)
    text += " and " + std::to_string(values.size() - 1) + " more";
  return text;
}

void tp::writeExplanationText(const json::Object &explanation,
                              llvm::raw_ostream &os) {
  for (const json::Value &value : listOf(explanation, "collectives")) {
    const json::Object &collective = *value.getAsObject();
    os << textOf(collective, "kind") << " over "
       << joined(listOf(collective, "axes")) << " at "
       << placeText(textOf(collective, "module"), textOf(collective, "loc"))
       << valueText(collective) << ": " << textOf(collective, "dtype") << ", "
       << numberOf(collective, "ring_bytes_per_rank") << " bytes, "
       << llvm::formatv("{0:F1}", collective.getNumber("time_us").value_or(0))
       << " us";
    if (int64_t count = numberOf(collective, "count"); count != 1)
      os << ", " << count << " times";
    if (isImplicit(collective))
      os << ", implicit";
    os << "\n";
    if (const json::Object *cause = collective.getObject("cause"))
      writeCause(*cause, os);
  }
  auto row = [&](const json::Object &total) {
    return llvm::formatv("{0,5}  {1,8}  {2,12}  {3,9:F1}",
                         numberOf(total, "count"), numberOf(total, "implicit"),
                         numberOf(total, "ring_bytes_per_rank"),
                         total.getNumber("time_us").value_or(0))
        .str();
  };
  os << "\ncount  implicit         bytes         us  module\n";
  for (const json::Value &value : listOf(explanation, "modules"))
    os << row(*value.getAsObject()) << "  "
       << textOf(*value.getAsObject(), "module") << "\n";
  os << row(*explanation.getObject("total")) << "  in all, on hardware '"
     << textOf(explanation, "hardware") << "'\n";
  if (StringRef others = textOf(explanation, "other_plans"); !others.empty())
    os << others << "\n";
  if (const json::Array *front = explanation.getArray("memory"))
    writeFront(*front, os);
}
