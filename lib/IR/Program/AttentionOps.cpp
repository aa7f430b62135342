//===- AttentionOps.cpp - attention on tensors and in memory --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandOperands.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// In memory
//===----------------------------------------------------------------------===//

void AttentionOp::getEffects(Effects &effects) {
  addOtherReads(getOMutable(), effects);
  effects.emplace_back(MemoryEffects::Write::get(), &getOMutable());
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyStrided(*this)))
    return failure();
  ArrayRef<int64_t> q = shapeOf(getQ()), k = shapeOf(getK()),
                    v = shapeOf(getV()), o = shapeOf(getO());
  bool fits = q.size() == 4 && k.size() == 4 && v.size() == 4 && o.size() == 4;
  fits = fits && k[0] == q[0] && v[0] == q[0] && o[0] == q[0] && v[1] == k[1] &&
         o[1] == q[1] && k[1] > 0 && q[1] % k[1] == 0 && v[2] == k[2] &&
         o[2] == q[2] && k[3] == q[3] &&
         o[3] == v[3] + (getPartial() ? numStateColumns : 0);
  if (!fits)
    return emitOpError() << "expected batch x heads x rows x columns"
                         << (getPartial() ? ", of the output two more" : "")
                         << ", got " << getQ().getType() << ", "
                         << getK().getType() << ", " << getV().getType()
                         << " and " << getO().getType();
  bool isSpan = getBias() && elementOf(getBias()).isInteger(64);
  if (getBias() && shapeOf(getBias()) !=
                       ArrayRef<int64_t>{q[0], q[1], q[2], isSpan ? 2 : k[2]})
    return emitOpError() << "the bias is batch x heads x queries x "
                         << (isSpan ? "2" : "keys") << ", got "
                         << getBias().getType();
  if (isSpan && (getLower() || getUpper()))
    return emitOpError() << "expected spans of keys, or 'lower' and 'upper'";
  if (getEmptyRows() && *getEmptyRows() != "zero" && *getEmptyRows() != "nan")
    return emitOpError() << "'empty_rows' is \"zero\" or \"nan\", got \""
                         << *getEmptyRows() << "\"";
  if (getOnto() && !getPartial())
    return emitOpError() << "a state is what an attention with 'partial' adds "
                            "to";
  if (getOnto() && getOnto().getType() != getO().getType())
    return emitOpError() << "the state has the output's type, "
                         << getO().getType() << ", got " << getOnto().getType();
  if (getPartial() && getEmptyRows())
    return emitOpError() << "expected no 'empty_rows' with 'partial': other "
                            "chunks may have keys";
  Type element = elementOf(getQ());
  Type sums = element.isF64() ? element : Float32Type::get(getContext());
  if (getPartial() && elementOf(getO()) != sums)
    return emitOpError() << "a state is of " << sums << ", got "
                         << getO().getType();
  for (Operation &step : getSteps().front())
    if (!isa<KernelOp, LaunchOp, GemmOp>(step) && !isMemoryEffectFree(&step)) {
      InFlightDiagnostic error = emitOpError() << "steps are kernels and GEMMs";
      error.attachNote(step.getLoc()) << "got this op";
      return error;
    }
  return success();
}

void AttentionBackwardOp::getEffects(Effects &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (&operand == &getGqMutable() || &operand == &getGkMutable() ||
        &operand == &getGvMutable())
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

/// The shapes of an attention's backward pass.
namespace {
struct BackwardShapes {
  ArrayRef<int64_t> q, k, v, go, lse, delta, gq, gk, gv;

  bool fit() const {
    auto has = [](ArrayRef<int64_t> shape, ArrayRef<int64_t> expected) {
      return shape == expected;
    };
    if (q.size() != 4 || k.size() != 4 || v.size() != 4)
      return false;
    int64_t batch = q[0], heads = q[1], queries = q[2], keys = k[2];
    return k[0] == batch && v[0] == batch && v[1] == k[1] && k[1] > 0 &&
           heads % k[1] == 0 && v[2] == keys && k[3] == q[3] && gq == q &&
           has(go, {batch, heads, queries, v[3]}) &&
           has(lse, {batch, heads, queries, 2}) &&
           has(delta, {batch, heads, queries, 1}) &&
           has(gk, {batch, heads, keys, k[3]}) &&
           has(gv, {batch, heads, keys, v[3]});
  }
};
} // namespace

LogicalResult AttentionBackwardOp::verify() {
  if (failed(verifyStrided(*this)))
    return failure();
  ArrayRef<int64_t> q = shapeOf(getQ()), k = shapeOf(getK());
  BackwardShapes shapes = {q,
                           k,
                           shapeOf(getV()),
                           shapeOf(getGo()),
                           shapeOf(getLse()),
                           shapeOf(getDelta()),
                           shapeOf(getGq()),
                           shapeOf(getGk()),
                           shapeOf(getGv())};
  if (!shapes.fit())
    return emitOpError() << "expected batch x heads x rows x columns that fit, "
                            "got "
                         << getOperandTypes();
  bool isSpan = elementOf(getBias()).isInteger(64);
  if (shapeOf(getBias()) !=
      ArrayRef<int64_t>{q[0], q[1], q[2], isSpan ? 2 : k[2]})
    return emitOpError() << "the bias is batch x heads x queries x "
                         << (isSpan ? "2" : "keys") << ", got "
                         << getBias().getType();
  Type element = elementOf(getQ());
  Type sums = element.isF64() ? element : Float32Type::get(getContext());
  for (Value each : {getK(), getV(), getGo()})
    if (elementOf(each) != element)
      return emitOpError() << "operands have q's element type, " << element
                           << ", got " << each.getType();
  for (Value each : {getGq(), getGk(), getGv()})
    if (elementOf(each) != elementOf(getGq()) ||
        (elementOf(each) != element && elementOf(each) != sums))
      return emitOpError() << "gradients have one element type, " << element
                           << " or " << sums << ", got " << each.getType();
  if (getOnto() &&
      (getOnto().getType() != getGq().getType() || elementOf(getGq()) != sums))
    return emitOpError() << "the sum before has gq's type, of " << sums
                         << ", got " << getOnto().getType() << " and "
                         << getGq().getType();
  for (Value each : {getLse(), getDelta()})
    if (elementOf(each) != sums)
      return emitOpError() << "lse and delta are of " << sums << ", got "
                           << each.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// On tensors
//===----------------------------------------------------------------------===//

static Type sumTypeOf(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

/// All have one type that attention is computed in.
static LogicalResult verifyTypes(Operation *op,
                                 ArrayRef<RankedTensorType> types) {
  Type element = types.front().getElementType();
  if (!element.isF64() && !element.isF32() && !element.isF16() &&
      !element.isBF16())
    return op->emitOpError("q is of f64, f32, f16 or bf16, got ")
           << types.front();
  for (RankedTensorType type : types)
    if (type.getElementType() != element)
      return op->emitOpError()
             << (types.size() == 3 ? "q, k and v" : "q, k, v and go")
             << " have one element type, got " << types;
  return success();
}

static LogicalResult verifyBias(Operation *op, RankedTensorType type,
                                ArrayRef<int64_t> q, int64_t keys, Type sums,
                                int64_t pairs) {
  bool isSpan = type.getElementType().isInteger(64);
  if (!isSpan && type.getElementType() != sums)
    return op->emitOpError()
           << "the bias is of i64 or " << sums << ", got " << type;
  ArrayRef<int64_t> bias = type.getShape();
  for (unsigned dim : {0, 1, 2})
    if (bias[dim] != 1 && bias[dim] != q[dim])
      return op->emitOpError() << "dimension " << dim << " of the bias is 1 or "
                               << q[dim] << ", got " << type;
  if (bias[3] != (isSpan ? 2 : keys))
    return op->emitOpError() << "the bias has "
                             << (isSpan ? "two numbers for every query"
                                        : "a number for every key")
                             << ", got " << type;
  if (pairs < 0)
    return op->emitOpError() << "'pairs' is 0 or more, got " << pairs;
  return success();
}

LogicalResult AttendOp::verify() {
  RankedTensorType qType = getQ().getType(), kType = getK().getType(),
                   vType = getV().getType(), biasType = getBias().getType(),
                   type = getResult().getType();
  for (RankedTensorType each : {qType, kType, vType, biasType, type})
    if (!each.hasStaticShape() || each.getRank() != 4)
      return emitOpError() << "operands and result have four dimensions of "
                              "static size, got "
                           << each;
  ArrayRef<int64_t> q = qType.getShape(), k = kType.getShape(),
                    v = vType.getShape();
  bool fits = k[0] == q[0] && v[0] == q[0] && v[1] == k[1] && k[1] > 0 &&
              q[1] % k[1] == 0 && v[2] == k[2] && k[3] == q[3];
  if (!fits)
    return emitOpError() << "expected batch x heads x rows x columns, got "
                         << qType << ", " << kType << " and " << vType;
  if (failed(verifyTypes(*this, {qType, kType, vType})))
    return failure();
  Type sums = sumTypeOf(qType.getElementType());
  auto state =
      RankedTensorType::get({q[0], q[1], q[2], v[3] + numStateColumns}, sums);
  if (type != state || (getOnto() && getOnto().getType() != state))
    return emitOpError("a state is a ")
           << state << ", got " << (type != state ? type : getOnto().getType());
  return verifyBias(*this, biasType, q, k[2], sums, getPairs());
}

LogicalResult AttendBackwardOp::verify() {
  SmallVector<RankedTensorType> types;
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>((*this)->getOperandTypes()),
                                SmallVector<Type>((*this)->getResultTypes())))
    types.push_back(cast<RankedTensorType>(type));
  for (RankedTensorType each : types)
    if (!each.hasStaticShape() || each.getRank() != 4)
      return emitOpError() << "operands and results have four dimensions of "
                              "static size, got "
                           << each;
  RankedTensorType qType = getQ().getType(), kType = getK().getType(),
                   vType = getV().getType(), goType = getGo().getType(),
                   lseType = getLse().getType(),
                   deltaType = getDelta().getType(), gqType = getGq().getType(),
                   gkType = getGk().getType(), gvType = getGv().getType();
  BackwardShapes shapes = {
      qType.getShape(),  kType.getShape(),   vType.getShape(),
      goType.getShape(), lseType.getShape(), deltaType.getShape(),
      gqType.getShape(), gkType.getShape(),  gvType.getShape()};
  if (!shapes.fit())
    return emitOpError() << "expected batch x heads x rows x columns that fit, "
                            "got "
                         << types;
  if (failed(verifyTypes(*this, {qType, kType, vType, goType})))
    return failure();
  Type sums = sumTypeOf(qType.getElementType());
  for (RankedTensorType each : {gqType, gkType, gvType})
    if (each.getElementType() != gqType.getElementType() ||
        (each.getElementType() != qType.getElementType() &&
         each.getElementType() != sums))
      return emitOpError() << "gradients have one element type, "
                           << qType.getElementType() << " or " << sums
                           << ", got " << each;
  if (getOnto() &&
      (getOnto().getType() != gqType || gqType.getElementType() != sums))
    return emitOpError() << "the sum before has gq's type, of " << sums
                         << ", got " << getOnto().getType() << " and "
                         << gqType;
  if (lseType.getElementType() != sums || deltaType.getElementType() != sums)
    return emitOpError() << "lse and delta are of " << sums << ", got "
                         << lseType << " and " << deltaType;
  return verifyBias(*this, getBias().getType(), qType.getShape(),
                    kType.getShape()[2], sums, getPairs());
}
