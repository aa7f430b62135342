//===- CheckOpTable.cpp - the table of ops and the dialects ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckOpTable.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "tp/IR/TMTensor.h"
#include "tp/Transforms/Legalize/OpAttributes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;

namespace {
struct CheckOpTable : PassWrapper<CheckOpTable, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckOpTable)

  StringRef getArgument() const final { return "tp-check-op-table"; }
  StringRef getDescription() const final {
    return "Compare the table of ops and attributes with the dialects";
  }

  void runOnOperation() final {
    markAllAnalysesPreserved();
    MLIRContext &context = getContext();
    for (StringRef dialect : dialectsOfOpTable())
      if (!context.getLoadedDialect(dialect))
        report("dialect '" + dialect + "' is not loaded");
    for (RegisteredOperationName name : context.getRegisteredOperations())
      if (llvm::is_contained(dialectsOfOpTable(), name.getDialectNamespace()))
        check(name);
    for (StringRef name : opsOfTable())
      if (!registered.contains(name))
        report("no dialect defines '" + name + "'");
    checkEnums();
    if (failed)
      return signalPassFailure();
    getOperation()->emitRemark()
        << registered.size() << " ops with " << numAttributes
        << " attributes and " << numValues << " values of enums are known";
  }

  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<affine::AffineDialect, arith::ArithDialect,
                    cf::ControlFlowDialect, complex::ComplexDialect,
                    func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                    scf::SCFDialect, ml_program::MLProgramDialect,
                    tensor::TensorDialect, tm_tensor::TMTensorDialect>();
  }

private:
  void report(const Twine &message) {
    getOperation()->emitError(message);
    failed = true;
  }

  /// The names that the op's definition gives, and those that an op without
  /// attributes has nevertheless: its native properties.
  llvm::StringSet<> attributesOf(RegisteredOperationName name) {
    llvm::StringSet<> attributes;
    for (StringAttr attribute : name.getAttributeNames())
      attributes.insert(attribute.getValue());
    OperationState state(getOperation()->getLoc(), name);
    Operation *op = Operation::create(state);
    if (auto own =
            dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
      for (NamedAttribute attribute : own)
        attributes.insert(attribute.getName());
    op->destroy();
    return attributes;
  }

  void check(RegisteredOperationName name) {
    registered.insert(name.getStringRef());
    const OpRule *rule = opRule(name.getStringRef());
    if (!rule)
      return report("the table does not know '" + name.getStringRef() + "'");
    if (rule->use != OpUse::Accepted)
      return;
    llvm::StringSet<> attributes = attributesOf(name);
    for (const auto &attribute : attributes)
      if (!rule->find(attribute.getKey()))
        report("the table does not know '" + attribute.getKey() + "' of '" +
               name.getStringRef() + "'");
    for (const AttributeRule *known : rule->attributes) {
      ++numAttributes;
      if (!attributes.contains(known->name))
        report("'" + name.getStringRef() + "' has no '" + known->name + "'");
    }
  }

  /// Every value of an enum that the dialect has is known, and none that it
  /// does not have.
  template <typename Enum, typename Make>
  void checkEnum(StringRef op, StringRef attribute, uint64_t last,
                 std::optional<Enum> (*symbolize)(uint64_t), Make make) {
    const OpRule *rule = opRule(op);
    const AttributeRule *known = rule ? rule->find(attribute) : nullptr;
    if (!known || !known->isKnown)
      return report("the values of '" + attribute + "' of '" + op +
                    "' are not checked");
    for (uint64_t number = 0; number <= last; ++number) {
      std::optional<Enum> value = symbolize(number);
      if (!value)
        continue;
      ++numValues;
      if (!known->isKnown(make(*value)))
        report("the table does not know value " + Twine(number) + " of '" +
               attribute + "' of '" + op + "'");
    }
    if (known->isKnown(make(static_cast<Enum>(last + 1))))
      report("'" + attribute + "' of '" + op + "' takes any value");
  }

  void checkEnums() {
    MLIRContext *context = &getContext();
#define CHECK_ENUM(NAMESPACE, ENUM, OP, ATTRIBUTE, LAST)                       \
  checkEnum<NAMESPACE::ENUM>(                                                  \
      OP, ATTRIBUTE, LAST,                                                     \
      [](uint64_t number) { return NAMESPACE::symbolize##ENUM(number); },      \
      [&](NAMESPACE::ENUM value) {                                             \
        return NAMESPACE::ENUM##Attr::get(context, value);                     \
      })
    CHECK_ENUM(arith, RoundingMode, "arith.truncf", "roundingmode",
               arith::getMaxEnumValForRoundingMode());
    CHECK_ENUM(arith, CmpFPredicate, "arith.cmpf", "predicate",
               arith::getMaxEnumValForCmpFPredicate());
    CHECK_ENUM(arith, CmpIPredicate, "arith.cmpi", "predicate",
               arith::getMaxEnumValForCmpIPredicate());
    CHECK_ENUM(linalg, TypeFn, "linalg.matmul", "cast",
               linalg::getMaxEnumValForTypeFn());
    CHECK_ENUM(linalg, ElementwiseKind, "linalg.elementwise", "kind",
               linalg::getMaxEnumValForElementwiseKind());
    // Of flags all combinations that the dialect has; one bit more is none.
    CHECK_ENUM(arith, FastMathFlags, "arith.addf", "fastmath",
               lastFlags([](uint64_t bits) {
                 return arith::symbolizeFastMathFlags(bits);
               }));
    CHECK_ENUM(arith, IntegerOverflowFlags, "arith.addi", "overflowFlags",
               lastFlags([](uint64_t bits) {
                 return arith::symbolizeIntegerOverflowFlags(bits);
               }));
#undef CHECK_ENUM
    const AttributeRule *iterators =
        opRule("linalg.generic")->find("iterator_types");
    for (uint64_t number = 0; number <= utils::getMaxEnumValForIteratorType();
         ++number) {
      auto kind = linalg::IteratorTypeAttr::get(
          context, static_cast<utils::IteratorType>(number));
      ++numValues;
      if (!iterators->isKnown(ArrayAttr::get(context, {kind})))
        report("the table does not know an iterator type");
    }
  }

  template <typename Symbolize> static uint64_t lastFlags(Symbolize symbolize) {
    uint64_t all = 0;
    for (unsigned bit = 0; bit < 32; ++bit)
      if (symbolize(uint64_t(1) << bit))
        all |= uint64_t(1) << bit;
    return all;
  }

  llvm::StringSet<> registered;
  unsigned numAttributes = 0, numValues = 0;
  bool failed = false;
};
} // namespace

void tp::registerCheckOpTablePass() { PassRegistration<CheckOpTable>(); }
