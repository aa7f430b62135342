//===- Statistics.cpp - the bytes of a rank's program ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "Program/JoinedArguments.h"
#include "tp/IR/Program.h"

using namespace mlir;
using namespace tp::target;
namespace rt = tp::runtime;

std::string tp::target::constantBytes(const ManifestSource &program) {
  std::string bytes(program.memory.constants, '\0');
  func::FuncOp function = program.function;
  for (auto constant : function.front().getOps<tp::ConstantOp>()) {
    if (!constant.getOffset())
      continue;
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    char *at = bytes.data() + *constant.getOffset();
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
  return bytes;
}

tp::ProgramStatistics
tp::target::statisticsOf(const ManifestSource &program) {
  ProgramStatistics statistics;
  func::FuncOp function = program.function;
  for (BlockArgument argument : function.getArguments()) {
    if (!isUsed(argument))
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
  for (Operation *command : commandsOf(function))
    if (auto communicate = dyn_cast<tp::CommunicateOp>(command))
      statistics.ringBytes += ringBytesOf(communicate.getCollective());
  statistics.arenaBytes = program.memory.arena;
  statistics.peakLiveBytes = program.memory.peakLive;
  statistics.constantsBytes = program.memory.constants;
  statistics.scratchBytes = program.scratchBytes;
  return statistics;
}
