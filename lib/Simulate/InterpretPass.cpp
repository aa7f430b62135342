//===- InterpretPass.cpp - tp-interpret -----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Files/OutputText.h"
#include "tp/Simulate/SimulatePasses.h"
#include "tp/Simulate/Simulator.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace tp {
#define GEN_PASS_DEF_INTERPRETPASS
#include "tp/Simulate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

namespace {
struct InterpretPass : tp::impl::InterpretPassBase<InterpretPass> {
  using InterpretPassBase::InterpretPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run();
  FailureOr<TensorData> read(func::FuncOp func, BlockArgument argument);
  LogicalResult write(func::FuncOp func, unsigned number,
                      const TensorData &array);
};
} // namespace

FailureOr<TensorData> InterpretPass::read(func::FuncOp func,
                                          BlockArgument argument) {
  std::string path =
      directory + "/arg" + std::to_string(argument.getArgNumber()) + ".bin";
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return func.emitOpError()
           << "cannot read '" << path << "': " << buffer.getError().message();
  Type type = getElementTypeOrSelf(argument.getType());
  auto tensor = dyn_cast<RankedTensorType>(argument.getType());
  ArrayRef<int64_t> shape = tensor ? tensor.getShape() : ArrayRef<int64_t>();
  std::optional<TensorData> array;
  if (storageOf(type) && (!tensor || tensor.hasStaticShape()))
    array = TensorData::fromBytes(type, shape,
                                  ArrayRef<char>((*buffer)->getBufferStart(),
                                                 (*buffer)->getBufferSize()));
  if (!array)
    return func.emitOpError()
           << "'" << path << "' of " << (*buffer)->getBufferSize()
           << " bytes is not a " << argument.getType();
  return *array;
}

LogicalResult InterpretPass::write(func::FuncOp func, unsigned number,
                                   const TensorData &array) {
  std::string path = directory + "/result" + std::to_string(number) + ".bin";
  std::vector<char> bytes = array.toBytes();
  runtime::Status status =
      writeOutputText(path, StringRef(bytes.data(), bytes.size()));
  if (!status.ok())
    return func.emitOpError() << status.message();
  return success();
}

LogicalResult InterpretPass::run() {
  auto func = getOperation().lookupSymbol<func::FuncOp>("main");
  if (!func || func.isDeclaration())
    return getOperation().emitOpError() << "has no function @main";
  std::vector<TensorData> inputs;
  for (BlockArgument argument : func.getArguments()) {
    FailureOr<TensorData> input = read(func, argument);
    if (failed(input))
      return failure();
    inputs.push_back(*input);
  }
  FailureOr<std::vector<TensorData>> results = interpret(func, inputs);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    if (failed(write(func, i, result)))
      return failure();
  return success();
}
