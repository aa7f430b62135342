//===- Statistics.cpp - the bytes of a rank's program ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "Program/JoinedArguments.h"
#include "tp/IR/Collectives/CollectiveBytes.h"
#include "tp/IR/Entries.h"
#include "tp/IR/PortNames.h"
#include "tp/IR/Program.h"

using namespace mlir;
using namespace tp::target;
namespace rt = tp::runtime;

static void addConstants(const ManifestSource &program, std::string &bytes) {
  bytes.resize(program.constantsAt + program.memory.constants);
  func::FuncOp function = program.function;
  for (auto constant : function.front().getOps<tp::ConstantOp>()) {
    if (!constant.getOffset())
      continue;
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    char *at = bytes.data() + program.constantsAt + *constant.getOffset();
    ArrayRef<char> raw = elements.getRawData();
    if (elements.getElementType().isInteger(1)) {
      for (bool element : elements.getValues<bool>())
        *at++ = element;
    } else if (elements.isSplat()) {
      for (int64_t i = 0; i < elements.getNumElements(); ++i, at += raw.size())
        std::copy(raw.begin(), raw.end(), at);
    } else {
      std::copy(raw.begin(), raw.end(), at);
    }
  }
}

std::string tp::target::constantBytes(ArrayRef<ManifestSource> entries) {
  std::string bytes;
  for (const ManifestSource &entry : entries)
    addConstants(entry, bytes);
  return bytes;
}

/// Adds what a command computes, and the bytes that it reads and writes.
static void addWork(Operation *command, tp::ProgramStatistics &statistics) {
  auto add = [&](double operations, Type elements) {
    tp::NumberClass numbers = tp::numberClass(isa<FloatType>(elements),
                                              elements.getIntOrFloatBitWidth());
    statistics.operations[static_cast<size_t>(numbers)] += operations;
  };
  auto elementsOf = [](Value value) {
    return cast<MemRefType>(value.getType()).getElementType();
  };
  if (auto gemm = dyn_cast<tp::GemmOp>(command)) {
    auto a = cast<MemRefType>(gemm.getA().getType());
    auto c = cast<MemRefType>(gemm.getC().getType());
    // What a rank multiplies is as wide as the narrower factor.
    Type factor = elementsOf(gemm.getB());
    if (a.getElementTypeBitWidth() < factor.getIntOrFloatBitWidth())
      factor = a.getElementType();
    add(2.0 * double(c.getNumElements()) * double(a.getShape().back()), factor);
  } else if (auto attention = dyn_cast<tp::AttentionOp>(command)) {
    add(double(attention.getFlops()), elementsOf(attention.getQ()));
  } else if (auto backward = dyn_cast<tp::AttentionBackwardOp>(command)) {
    add(double(backward.getFlops()), elementsOf(backward.getQ()));
  }
  for (Value operand : command->getOperands())
    if (auto buffer = dyn_cast<MemRefType>(operand.getType()))
      statistics.movedBytes += double(bytesOf(buffer));
  // Of a table it reads as many matrices as it multiplies.
  auto gemm = dyn_cast<tp::GemmOp>(command);
  if (gemm && gemm.getPlaces()) {
    auto table = cast<MemRefType>(gemm.getB().getType());
    auto places = cast<MemRefType>(gemm.getPlaces().getType());
    statistics.movedBytes +=
        double(bytesOf(table)) *
        (double(places.getNumElements()) / double(table.getDimSize(0)) - 1);
  }
}

tp::ProgramStatistics
tp::target::statisticsOf(ArrayRef<ManifestSource> entries) {
  tp::ProgramStatistics all;
  SmallVector<func::FuncOp> functions;
  for (const ManifestSource &entry : entries) {
    functions.push_back(entry.function);
    ProgramStatistics one = statisticsOf(entry);
    all.argumentsBytes += one.argumentsBytes;
    all.weightsBytes += one.weightsBytes;
    all.resultsBytes += one.resultsBytes;
    // Those of a step, in which a kept loop's body runs several times.
    int64_t times = tp::timesOf(entry.function);
    all.ringBytes += times * one.ringBytes;
    all.movedBytes += double(times) * one.movedBytes;
    for (auto [sum, operations] : llvm::zip(all.operations, one.operations))
      sum += double(times) * operations;
    all.constantsBytes += one.constantsBytes;
    all.arenaBytes = std::max(all.arenaBytes, one.arenaBytes);
    if (one.peakLiveBytes > all.peakLiveBytes) {
      all.peakLiveBytes = one.peakLiveBytes;
      all.atPeak = one.atPeak;
    }
    all.scratchBytes = std::max(all.scratchBytes, one.scratchBytes);
  }
  // What several read was added up more than once.
  SmallVector<llvm::MapVector<unsigned, unsigned>> updates;
  for (func::FuncOp function : functions)
    updates.push_back(tp::updatesOf(function));
  tp::SharedArguments shared(functions);
  for (ArrayRef<tp::EntryArgument> tensor : shared.tensors()) {
    int64_t times = llvm::count_if(tensor, [&](tp::EntryArgument each) {
      return isUsed(functions[each.entry].getArgument(each.argument)) ||
             updates[each.entry].contains(each.argument);
    });
    func::FuncOp first = functions[tensor[0].entry];
    unsigned number = tensor[0].argument;
    int64_t again =
        std::max<int64_t>(times - 1, 0) *
        bytesOf(cast<MemRefType>(first.getArgument(number).getType()));
    auto kind = first.getArgAttrOfType<StringAttr>(number, tp::attr::kind);
    rt::Port port;
    port.kind = kind ? kind.str() : "user_input";
    all.argumentsBytes -= again;
    if (port.isWeight())
      all.weightsBytes -= again;
  }
  return all;
}

tp::ProgramStatistics tp::target::statisticsOf(const ManifestSource &program) {
  ProgramStatistics statistics;
  func::FuncOp function = program.function;
  llvm::MapVector<unsigned, unsigned> updates = tp::updatesOf(function);
  for (BlockArgument argument : function.getArguments()) {
    if (!isUsed(argument) && !updates.contains(argument.getArgNumber()))
      continue;
    int64_t bytes = bytesOf(cast<MemRefType>(argument.getType()));
    statistics.argumentsBytes += bytes;
    auto kind = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      tp::attr::kind);
    rt::Port port;
    port.kind = kind ? kind.str() : "user_input";
    if (port.isWeight() || !partsOf(argument).empty())
      statistics.weightsBytes += bytes;
  }
  Buffers buffers(function);
  for (Value result : function.front().getTerminator()->getOperands())
    if (buffers.spaceOf(result) == Space::Result)
      statistics.resultsBytes += bytesOf(cast<MemRefType>(result.getType()));
  for (Operation *command : commandsOf(function)) {
    if (auto communicate = dyn_cast<tp::CommunicateOp>(command))
      statistics.ringBytes +=
          tp::bytesOfCollective(communicate.getCollective()).ring;
    else
      addWork(command, statistics);
  }
  statistics.arenaBytes = program.memory.arena;
  statistics.peakLiveBytes = program.memory.peakLive;
  statistics.atPeak = program.memory.atPeak;
  statistics.constantsBytes = program.memory.constants;
  statistics.scratchBytes = program.scratchBytes;
  return statistics;
}
