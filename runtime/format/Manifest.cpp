//===- Manifest.cpp - what an artifact says about itself ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Manifest.h"
#include <algorithm>
#include <charconv>

using namespace tp::runtime;

const char *tp::runtime::spelling(CollectiveKind kind) {
  constexpr const char *names[] = {"all_reduce", "all_gather", "reduce_scatter",
                                   "all_to_all", "permute"};
  return names[int(kind)];
}

const char *tp::runtime::spelling(Reduction reduction) {
  constexpr const char *names[] = {"sum", "avg", "product", "max", "min"};
  return names[int(reduction)];
}

const char *tp::runtime::spelling(Activation activation) {
  constexpr const char *names[] = {"none", "relu", "gelu_tanh"};
  return names[int(activation)];
}

int64_t Port::localBytes() const {
  return dead ? 0 : elementCount(localShape).value_or(0) * byteSize(dtype);
}

std::vector<int64_t> Port::localStrides() const {
  std::vector<int64_t> stored(localShape.size());
  for (size_t i = 0; i < stored.size(); ++i)
    stored[i] = localShape[permutation[i]];
  std::vector<int64_t> storedStrides = rowMajorStrides(stored);
  std::vector<int64_t> strides(stored.size());
  for (size_t i = 0; i < stored.size(); ++i)
    strides[permutation[i]] = storedStrides[i];
  return strides;
}

bool Port::isWeight() const {
  return kind == "parameter" || kind == "buffer" || kind == "constant_tensor" ||
         kind.starts_with("opt_");
}

int64_t Manifest::numRanks() const {
  int64_t ranks = 1;
  for (const MeshAxis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

std::array<int64_t, TP_MAX_MESH_AXES>
Manifest::coordinates(int64_t rank) const {
  int64_t position = rank;
  if (!deviceOrder.empty())
    position = std::find(deviceOrder.begin(), deviceOrder.end(), rank) -
               deviceOrder.begin();
  std::array<int64_t, TP_MAX_MESH_AXES> result = {};
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = position % axes[i].size;
    position /= axes[i].size;
  }
  return result;
}

std::string Manifest::meshText() const {
  std::string text;
  for (const MeshAxis &axis : axes)
    text += (text.empty() ? "" : ", ") + axis.name + " = " +
            std::to_string(axis.size);
  return text;
}

static void describe(std::string_view what, std::string_view location,
                     std::string_view module, const TextSink &write) {
  write(what);
  for (auto [before, name] :
       {std::pair(" '", location), std::pair(" of module '", module)}) {
    if (name.empty())
      continue;
    write(before);
    write(name);
    write("'");
  }
}

std::string tp::runtime::describe(std::string_view what,
                                  std::string_view location,
                                  std::string_view module) {
  std::string text;
  ::describe(what, location, module,
             [&text](std::string_view piece) { text += piece; });
  return text;
}

void Manifest::describe(int64_t index, const TextSink &write) const {
  if (index < 0)
    return write("the start of the run");
  if (index >= int64_t(program.size()))
    return write("the end of the step");
  const Command &command = program[index];
  write("command ");
  writeNumber(index, write);
  write(", ");
  std::string_view what = "gemm";
  if (auto *kernel = std::get_if<KernelCommand>(&command.what)) {
    write("kernel ");
    what = kernel->function;
  } else if (auto *call = std::get_if<CollectiveCommand>(&command.what)) {
    what = spelling(collectives[call->collective].kind);
  } else if (std::holds_alternative<AttentionCommand>(command.what)) {
    what = "attention";
  }
  ::describe(what, command.location, command.module, write);
}

std::string Manifest::describe(int64_t index) const {
  std::string text;
  describe(index, [&text](std::string_view piece) { text += piece; });
  return text;
}

void Manifest::forEachCommand(
    const std::function<void(const Command &, int64_t)> &visit) const {
  for (size_t i = 0; i < program.size(); ++i) {
    visit(program[i], int64_t(i));
    if (const auto *attention = std::get_if<AttentionCommand>(&program[i].what))
      for (const Command &step : attention->steps)
        visit(step, int64_t(i));
  }
}

void tp::runtime::writeNumber(int64_t number, const TextSink &write) {
  char digits[24];
  std::to_chars_result end =
      std::to_chars(digits, digits + sizeof(digits), number);
  write({digits, size_t(end.ptr - digits)});
}

const Assert *Manifest::findAssert(int64_t id) const {
  for (const Assert &row : asserts)
    if (row.id == id)
      return &row;
  return nullptr;
}

Status tp::runtime::findPort(const std::vector<Port> &ports,
                             std::string_view name, const char *side,
                             int64_t &index) {
  std::vector<int64_t> byName;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].kind + ":" + ports[i].name == name) {
      index = i;
      return {};
    }
    if (ports[i].name == name)
      byName.push_back(i);
  }
  if (byName.size() == 1) {
    index = byName.front();
    return {};
  }
  std::string message = std::string(byName.empty() ? "no " : "more than one ") +
                        side + " is called '" + std::string(name) + "'";
  // All names of a large model would bury the message.
  constexpr size_t mostListed = 12;
  const char *separator = byName.empty() ? ", there are: " : ", write: ";
  size_t listed = 0;
  for (size_t i = 0; i < ports.size() && listed < mostListed; ++i) {
    if (byName.empty() ? ports[i].isWeight() : ports[i].name != name)
      continue;
    message += separator + portName(ports, i);
    separator = ", ";
    ++listed;
  }
  return invalidArgument(message);
}

std::string tp::runtime::portName(const std::vector<Port> &ports,
                                  int64_t index) {
  const Port &port = ports[index];
  for (size_t i = 0; i < ports.size(); ++i)
    if (int64_t(i) != index && ports[i].name == port.name)
      return port.kind + ":" + port.name;
  return port.name;
}
