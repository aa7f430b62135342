//===- CustomOps.cpp - ops of others -------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/CustomOps.h"
#include "PlanSyntax.h"
#include "tp/Runtime/CustomOp.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

#define GET_OP_CLASSES
#include "tp/IR/CustomOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Names and attributes
//===----------------------------------------------------------------------===//

StringRef tp::customNameOf(Operation *op) {
  if (auto custom = dyn_cast<CustomOp>(op))
    return custom.getOpName();
  return op->getName().getStringRef();
}

std::string tp::ruleTemplate(Operation *op) {
  auto dimsOf = [](TypeRange types) {
    SmallVector<std::string> tensors;
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        tensors.push_back(llvm::join(
            SmallVector<StringRef>(tensor.getRank(), unsplitDim), " "));
    return llvm::join(tensors, ", ");
  };
  return ("tp.rule \"" + customNameOf(op) + "\" \"" +
          dimsOf(op->getOperandTypes()) + " -> " +
          dimsOf(op->getResultTypes()) + "\"")
      .str();
}

/// False where `value` is no number, or one of another kind than those before.
static bool addNumber(Attribute value, CustomAttribute &to) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    to.isFloat = true;
    to.numbers.push_back(number.getValueAsDouble());
    return to.integers.empty();
  }
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer || integer.getValue().getBitWidth() > 64)
    return false;
  bool isTruth = integer.getValue().getBitWidth() == 1;
  to.integers.push_back(isTruth ? integer.getValue().getZExtValue()
                                : integer.getValue().getSExtValue());
  return to.numbers.empty();
}

std::optional<CustomAttribute> CustomAttribute::of(NamedAttribute attribute) {
  CustomAttribute made;
  made.name = attribute.getName().str();
  auto addFloats = [&](auto array) {
    made.isFloat = true;
    llvm::append_range(made.numbers, array.asArrayRef());
    return true;
  };
  bool isReadable =
      llvm::TypeSwitch<Attribute, bool>(attribute.getValue())
          .Case([&](StringAttr text) {
            made.text = text.str();
            return true;
          })
          .Case([&](UnitAttr) {
            made.integers.push_back(1);
            return true;
          })
          .Case([&](ArrayAttr list) {
            return llvm::all_of(
                list, [&](Attribute each) { return addNumber(each, made); });
          })
          .Case<DenseI64ArrayAttr, DenseI32ArrayAttr, DenseBoolArrayAttr>(
              [&](auto array) {
                llvm::append_range(made.integers, array.asArrayRef());
                return true;
              })
          .Case<DenseF64ArrayAttr, DenseF32ArrayAttr>(addFloats)
          .Default([&](Attribute value) { return addNumber(value, made); });
  return isReadable ? std::optional(std::move(made)) : std::nullopt;
}

std::optional<int32_t> tp::dtypeOf(Type element) {
  return llvm::TypeSwitch<Type, std::optional<int32_t>>(element)
      .Case([](Float64Type) { return TP_F64; })
      .Case([](Float32Type) { return TP_F32; })
      .Case([](Float16Type) { return TP_F16; })
      .Case([](BFloat16Type) { return TP_BF16; })
      .Case([](IndexType) { return TP_INDEX; })
      .Case([](Float8E4M3FNType) { return TP_F8E4M3FN; })
      .Case([](Float8E5M2Type) { return TP_F8E5M2; })
      .Case([](Float8E4M3FNUZType) { return TP_F8E4M3FNUZ; })
      .Case([](Float8E5M2FNUZType) { return TP_F8E5M2FNUZ; })
      .Case([](IntegerType type) -> std::optional<int32_t> {
        switch (type.getWidth()) {
        case 1:
          return TP_I1;
        case 8:
          return TP_I8;
        case 16:
          return TP_I16;
        case 32:
          return TP_I32;
        case 64:
          return TP_I64;
        default:
          return std::nullopt;
        }
      })
      .Default([](Type) { return std::nullopt; });
}

int32_t tp::kindOf(const CustomAttribute &attribute) {
  return attribute.text      ? TP_TEXT
         : attribute.isFloat ? TP_NUMBERS
                             : TP_INTEGERS;
}

std::string tp::whyUnreadable(NamedAttribute attribute) {
  if (CustomAttribute::of(attribute))
    return "";
  std::string text;
  llvm::raw_string_ostream(text)
      << "attribute '" << attribute.getName().getValue() << "' is "
      << attribute.getValue()
      << ", which no implementation can read: expected a number, a text, or a "
         "list of integers or of floats";
  return text;
}

FailureOr<CustomOp> tp::makeCustom(Operation *op) {
  if (auto custom = dyn_cast<CustomOp>(op))
    return custom;
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  if (!llvm::all_of(op->getOperandTypes(), isTensor) ||
      !llvm::all_of(op->getResultTypes(), isTensor) || op->getNumRegions() ||
      op->getNumSuccessors() || op->getNumResults() == 0)
    return op->emitError()
           << "'" << op->getName()
           << "' is of a dialect that tp does not know: expected operands and "
              "results that are tensors, and no region; write a number as an "
              "attribute or as a tensor of rank 0";
  NamedAttrList attributes(op->getAttrDictionary()), kept;
  for (NamedAttribute attribute : op->getAttrDictionary())
    if (isa_and_present<TPDialect>(attribute.getNameDialect())) {
      attributes.erase(attribute.getName());
      kept.push_back(attribute);
    } else if (std::string why = whyUnreadable(attribute); !why.empty()) {
      return op->emitError() << "'" << op->getName() << "': " << why;
    }
  OpBuilder builder(op);
  auto custom = CustomOp::create(
      builder, op->getLoc(), op->getResultTypes(), op->getName().getStringRef(),
      op->getOperands(), attributes.getDictionary(op->getContext()),
      /*rule=*/StringAttr(), /*reduction=*/ArrayAttr(),
      /*combine=*/StringAttr(), /*valid=*/ArrayAttr(),
      /*valid_dims=*/ArrayAttr());
  custom->setDiscardableAttrs(kept.getDictionary(op->getContext()));
  op->replaceAllUsesWith(custom);
  op->erase();
  return custom;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult RuleOp::verify() {
  StringRef dialect = getOpName().split('.').first;
  if (dialect.empty() || dialect.size() + 1 >= getOpName().size() ||
      llvm::any_of(getOpName(), llvm::isSpace))
    return emitOpError() << "expected the name of an op, such as "
                            "\"dialect.op\", got \""
                         << getOpName() << "\"";
  Attribute reduction = getOptions().get("reduction");
  Attribute combine = getOptions().get("combine");
  for (NamedAttribute option : getOptions())
    if (option.getName() != "reduction" && option.getName() != "combine")
      return emitOpError() << "tp.rule has no option '"
                           << option.getName().getValue()
                           << "', its options are reduction and combine";
  if (reduction && !isa<ArrayAttr>(reduction))
    return emitOpError()
           << "'reduction' takes a list of names, such as [\"k\"]";
  if (combine && !isa<StringAttr>(combine))
    return emitOpError() << "'combine' takes \"sum\", \"product\", \"max\" or "
                            "\"min\"";
  std::string problem;
  if (!CustomRule::read(getRule(), cast_or_null<ArrayAttr>(reduction),
                        cast_or_null<StringAttr>(combine), problem))
    return emitOpError() << problem;
  return success();
}

/// What is shared by an op on tensors and the command that it becomes.
template <typename OpTy>
static LogicalResult verifyParts(OpTy op, TypeRange inputs, TypeRange outputs) {
  for (NamedAttribute attribute : op.getOpAttributes())
    if (std::string why = whyUnreadable(attribute); !why.empty())
      return op.emitOpError() << why;
  ArrayAttr valid = op.getValidAttr(), dims = op.getValidDimsAttr();
  if (!valid != !dims)
    return op.emitOpError() << "expected 'valid' and 'valid_dims' together";
  if (!valid)
    return success();
  size_t ranks = 0;
  for (Attribute each : valid) {
    auto counts = dyn_cast<DenseI64ArrayAttr>(each);
    if (!counts || counts.empty() || (ranks && counts.size() != int64_t(ranks)))
      return op.emitOpError()
             << "'valid' has an array<i64> of as many counts each, one for "
                "every rank";
    ranks = counts.size();
  }
  if (dims.size() != inputs.size() + outputs.size())
    return op.emitOpError() << "'valid_dims' has one array<i64> for every "
                               "operand and result";
  for (auto [each, type] :
       llvm::zip(dims, llvm::concat<const Type>(llvm::to_vector(inputs),
                                                llvm::to_vector(outputs)))) {
    auto which = dyn_cast<DenseI64ArrayAttr>(each);
    ArrayRef<int64_t> shape = cast<ShapedType>(type).getShape();
    if (!which || which.size() != int64_t(shape.size()))
      return op.emitOpError() << "'valid_dims' has a number for every "
                                 "dimension of "
                              << type << ", got " << each;
    for (auto [number, size] : llvm::zip_equal(which.asArrayRef(), shape)) {
      if (number < -1 || number >= int64_t(valid.size()))
        return op.emitOpError() << "'valid_dims' has numbers of 'valid' or "
                                   "-1, got "
                                << number;
      if (number < 0)
        continue;
      for (int64_t count : cast<DenseI64ArrayAttr>(valid[number]).asArrayRef())
        if (count < 0 || count > size)
          return op.emitOpError()
                 << "a rank has from 0 to " << size
                 << " indices of this dimension, got " << count;
    }
  }
  return success();
}

LogicalResult CustomOp::verify() {
  if (getResults().empty())
    return emitOpError() << "expected a result";
  if (failed(verifyParts(*this, getInputs().getTypes(), getResultTypes())))
    return failure();
  if (!getRule()) {
    if (getReduction() || getCombine())
      return emitOpError() << "'reduction' and 'combine' are of a rule, "
                              "expected 'rule' too";
    return success();
  }
  std::string problem;
  std::optional<CustomRule> rule = CustomRule::of(*this, problem);
  if (rule)
    problem = rule->whyNot(getInputs().getTypes(), getResultTypes());
  if (!problem.empty())
    return emitOpError() << problem;
  return success();
}

void CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getInputsMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
  for (OpOperand &operand : getOutputsMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &operand);
}

LogicalResult CallOp::verify() {
  if (getOutputs().empty())
    return emitOpError() << "expected an output";
  for (Value operand : getOperands()) {
    SmallVector<int64_t> strides;
    int64_t offset;
    auto type = cast<MemRefType>(operand.getType());
    if (failed(type.getStridesAndOffset(strides, offset)) ||
        ShapedType::isDynamic(offset) ||
        llvm::any_of(strides, ShapedType::isDynamic))
      return emitOpError() << "operands have one stride per dimension, got "
                           << type;
  }
  return verifyParts(*this, getInputs().getTypes(), getOutputs().getTypes());
}
