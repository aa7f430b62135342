//===- EmitCalls.cpp - calls of functions of users ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitCalls.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tp/IR/ElementBytes.h"
#include "tp/IR/Program.h"
#include "tp/Runtime/CustomOp.h"
#include "tp/Runtime/Kernel.h"
#include "tp/Runtime/Linked/LinkedOps.h"
#include "llvm/Support/raw_ostream.h"
#include <cstddef>

using namespace mlir;
using namespace tp::cpu;
using namespace tp::target;

namespace {
/// The code of one kernel.
class CallBody {
public:
  CallBody(CallKernels &made, tp::CallOp call)
      : made(made), call(call), loc(call.getLoc()),
        builder(made.module.getBodyRegion()),
        pointer(LLVM::LLVMPointerType::get(call.getContext())) {
    builder.setInsertionPointToEnd(made.module.getBody());
  }

  LLVM::LLVMFuncOp emit();

private:
  Value constant(Type type, int64_t number) {
    return LLVM::ConstantOp::create(builder, loc, type,
                                    builder.getIntegerAttr(type, number));
  }
  Value i32(int64_t number) { return constant(builder.getI32Type(), number); }
  Value i64(int64_t number) { return constant(builder.getI64Type(), number); }
  Value at(Value base, int64_t bytes) {
    return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
  }
  void store(Value value, Value base, int64_t bytes) {
    LLVM::StoreOp::create(builder, loc, value, at(base, bytes));
  }
  Value load(Type type, Value base, int64_t bytes) {
    return LLVM::LoadOp::create(builder, loc, type, at(base, bytes));
  }
  /// Memory of the call, and a constant in the code.
  Value allocate(int64_t bytes) {
    return LLVM::AllocaOp::create(builder, loc, pointer, builder.getI8Type(),
                                  i64(std::max<int64_t>(bytes, 1)),
                                  /*alignment=*/8);
  }
  Value address(Type type, Attribute value);
  Value text(StringRef text);
  template <typename T> Value numbers(ArrayRef<T> list, Type element);

  void addTensor(Value tensors, unsigned number, Value value);
  Value addAttributes();
  void check(Value code);

  CallKernels &made;
  tp::CallOp call;
  Location loc;
  OpBuilder builder;
  Type pointer;
  Value buffers, context;
};
} // namespace

Value CallBody::address(Type type, Attribute value) {
  std::string key;
  llvm::raw_string_ostream(key) << type << value;
  std::string &name = made.constants[key];
  if (name.empty()) {
    name = "tp_call_constant_" + std::to_string(made.constants.size() - 1);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.module.getBody());
    LLVM::GlobalOp::create(builder, made.module.getLoc(), type,
                           /*isConstant=*/true, LLVM::Linkage::Internal, name,
                           value, /*alignment=*/8);
  }
  return LLVM::AddressOfOp::create(builder, loc, pointer, name);
}

Value CallBody::text(StringRef text) {
  std::string zeroed = text.str() + '\0';
  return address(LLVM::LLVMArrayType::get(builder.getI8Type(), zeroed.size()),
                 builder.getStringAttr(zeroed));
}

template <typename T> Value CallBody::numbers(ArrayRef<T> list, Type element) {
  if (list.empty())
    return LLVM::ZeroOp::create(builder, loc, pointer);
  auto type = RankedTensorType::get({int64_t(list.size())}, element);
  return address(LLVM::LLVMArrayType::get(element, list.size()),
                 DenseElementsAttr::get(type, list));
}

/// Describes tensor `number`: the inputs, then the outputs.
void CallBody::addTensor(Value tensors, unsigned number, Value value) {
  auto type = cast<MemRefType>(value.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  [[maybe_unused]] LogicalResult known =
      type.getStridesAndOffset(strides, offset);
  assert(succeeded(known) && "the op's verifier asks for strides");
  Value tensor = at(tensors, number * sizeof(tp_tensor));
  Value data = load(pointer, buffers, number * sizeof(void *));
  store(at(data, offset * tp::elementBytes(type.getElementType())), tensor,
        offsetof(tp_tensor, data));
  store(i32(*tp::dtypeOf(type.getElementType())), tensor,
        offsetof(tp_tensor, dtype));
  store(i32(type.getRank()), tensor, offsetof(tp_tensor, rank));
  store(i32(TP_HOST), tensor, offsetof(tp_tensor, memory_space));
  store(i32(0), tensor, offsetof(tp_tensor, device));
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    int64_t which = -1;
    if (call.getValidDims())
      which = cast<DenseI64ArrayAttr>((*call.getValidDims())[number])[dim];
    Value extent = i64(size);
    if (which >= 0) {
      auto counts = cast<DenseI64ArrayAttr>((*call.getValid())[which]);
      Value table = numbers(counts.asArrayRef(), builder.getI64Type());
      Value rank = load(builder.getI64Type(), context,
                        offsetof(tp_kernel_context, rank));
      Value place =
          LLVM::GEPOp::create(builder, loc, pointer, builder.getI64Type(),
                              table, ArrayRef<LLVM::GEPArg>{rank});
      extent = LLVM::LoadOp::create(builder, loc, builder.getI64Type(), place);
    }
    store(extent, tensor, offsetof(tp_tensor, sizes) + dim * sizeof(int64_t));
    store(i64(strides[dim]), tensor,
          offsetof(tp_tensor, strides) + dim * sizeof(int64_t));
  }
}

Value CallBody::addAttributes() {
  Value attributes =
      allocate(call.getOpAttributes().size() * sizeof(tp_attribute));
  for (auto [number, named] : llvm::enumerate(call.getOpAttributes())) {
    tp::CustomAttribute read = *tp::CustomAttribute::of(named);
    Value attribute = at(attributes, number * sizeof(tp_attribute));
    store(text(read.name), attribute, offsetof(tp_attribute, name));
    store(i32(tp::kindOf(read)), attribute, offsetof(tp_attribute, kind));
    store(i64(read.integers.size() + read.numbers.size()), attribute,
          offsetof(tp_attribute, count));
    store(numbers(ArrayRef(read.integers), builder.getI64Type()), attribute,
          offsetof(tp_attribute, integers));
    store(numbers(ArrayRef(read.numbers), builder.getF64Type()), attribute,
          offsetof(tp_attribute, numbers));
    store(text(read.text.value_or("")), attribute,
          offsetof(tp_attribute, text));
  }
  return attributes;
}

/// A code other than 0 is an assertion that fails.
void CallBody::check(Value code) {
  std::string op = call.getOpName().str();
  auto message =
      builder.getStringAttr("the function " + tp::runtime::functionOfOp(op) +
                            " of op '" + op + "' failed");
  int id = made.asserts.ids
               .insert({{message, loc}, int(made.asserts.ids.size()) + 1})
               .first->second;
  Value status = load(pointer, context, offsetof(tp_kernel_context, status));
  Value current = load(builder.getI32Type(), status, 0);
  auto isZero = [&](Value value) -> Value {
    return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, value,
                                i32(0));
  };
  Value first =
      LLVM::SelectOp::create(builder, loc, isZero(current), i32(id), current);
  Value next =
      LLVM::SelectOp::create(builder, loc, isZero(code), current, first);
  store(next, status, 0);
}

LLVM::LLVMFuncOp CallBody::emit() {
  std::string op = call.getOpName().str();
  std::string name = tp::runtime::functionOfOp(op);
  if (!made.module.lookupSymbol(name))
    LLVM::LLVMFuncOp::create(
        builder, made.module.getLoc(), name,
        LLVM::LLVMFunctionType::get(builder.getI32Type(), {pointer}));
  auto none = LLVM::LLVMVoidType::get(builder.getContext());
  auto kernel = LLVM::LLVMFuncOp::create(
      builder, loc, "kernel",
      LLVM::LLVMFunctionType::get(none, {pointer, pointer}));
  Block *entry = kernel.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  buffers = entry->getArgument(0);
  context = entry->getArgument(1);
  unsigned numInputs = call.getInputs().size(),
           numOutputs = call.getOutputs().size();
  Value tensors = allocate((numInputs + numOutputs) * sizeof(tp_tensor));
  for (auto [number, value] : llvm::enumerate(call->getOperands()))
    addTensor(tensors, number, value);
  Value attributes = addAttributes();
  Value described = allocate(sizeof(tp_op_call));
  store(i32(sizeof(tp_op_call)), described, offsetof(tp_op_call, struct_size));
  store(text(op), described, offsetof(tp_op_call, op));
  store(i32(numInputs), described, offsetof(tp_op_call, num_inputs));
  store(i32(numOutputs), described, offsetof(tp_op_call, num_outputs));
  store(i32(call.getOpAttributes().size()), described,
        offsetof(tp_op_call, num_attributes));
  store(tensors, described, offsetof(tp_op_call, inputs));
  store(at(tensors, numInputs * sizeof(tp_tensor)), described,
        offsetof(tp_op_call, outputs));
  store(attributes, described, offsetof(tp_op_call, attributes));
  store(LLVM::ZeroOp::create(builder, loc, pointer), described,
        offsetof(tp_op_call, stream));
  auto code = LLVM::CallOp::create(builder, loc, builder.getI32Type(), name,
                                   ValueRange{described});
  check(code.getResult());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return kernel;
}

/// The name of the kernel that the call becomes.
static std::string kernelOf(tp::CallOp call, CallKernels &made) {
  LLVM::LLVMFuncOp kernel = CallBody(made, call).emit();
  std::string code;
  llvm::raw_string_ostream stream(code);
  kernel->print(stream, OpPrintingFlags().useLocalScope());
  auto [entry, isNew] = made.kernels.try_emplace(
      code, "tp_call_" + std::to_string(made.kernels.size()));
  if (isNew)
    kernel.setName(entry->second);
  else
    kernel.erase();
  return entry->second;
}

LogicalResult tp::cpu::emitCalls(CodegenPlan &planned, CallKernels &made) {
  for (auto call : llvm::make_early_inc_range(
           planned.program.front().getOps<tp::CallOp>())) {
    for (Attribute counts : call.getValid().value_or(
             Builder(&*call.getContext()).getArrayAttr({})))
      if (cast<DenseI64ArrayAttr>(counts).size() != planned.mesh.numRanks())
        return call.emitOpError("expected a count for each of ")
               << planned.mesh.numRanks() << " ranks, got " << counts;
    SmallVector<Value> roots;
    for (Value operand : call->getOperands())
      roots.push_back(rootBuffer(operand));
    SmallVector<bool> read(roots.size(), true), written(roots.size(), false);
    for (unsigned i = call.getInputs().size(); i < roots.size(); ++i) {
      read[i] = false;
      written[i] = true;
    }
    OpBuilder builder(call);
    auto launch = tp::LaunchOp::create(
        builder, call.getLoc(), kernelOf(call, made), roots, read, written,
        /*grid=*/DenseI64ArrayAttr(), /*block=*/DenseI64ArrayAttr());
    // What the function returns is an assertion.
    launch.setChecks(true);
    call.erase();
  }
  return success();
}
