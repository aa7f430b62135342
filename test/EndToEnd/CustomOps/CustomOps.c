/* CustomOps.c - functions that compute ops of tests. They honour sizes and
   strides of every call, and refuse attributes and types that are not theirs.
 */
#include "tp/Runtime/CustomOp.h"
#include <math.h>

#define EXPORT __attribute__((visibility("default")))

static float *element(const tp_tensor *tensor, const int64_t *index) {
  int64_t offset = 0;
  for (int32_t d = 0; d < tensor->rank; ++d)
    offset += index[d] * tensor->strides[d];
  return (float *)tensor->data + offset;
}

static int32_t check(const tp_op_call *call, int32_t inputs, int32_t outputs) {
  if (call->num_inputs != inputs || call->num_outputs != outputs)
    return 1;
  for (int32_t i = 0; i < inputs; ++i)
    if (call->inputs[i].dtype != TP_F32)
      return 2;
  return 0;
}

/* test.mix: y[b, i, j] = scale * sum over k of exp(x[b, i, k]) * w[k, j]. */
EXPORT int32_t test_mix(const tp_op_call *call) {
  int32_t wrong = check(call, 2, 1);
  const tp_attribute *scale = tp_find_attribute(call, "scale");
  const tp_tensor *x = &call->inputs[0], *w = &call->inputs[1],
                  *y = &call->outputs[0];
  if (wrong || !scale || scale->kind != TP_NUMBERS || scale->count != 1)
    return wrong ? wrong : 3;
  if (x->sizes[0] != y->sizes[0] || x->sizes[1] != y->sizes[1] ||
      x->sizes[2] != w->sizes[0] || w->sizes[1] != y->sizes[2])
    return 4;
  for (int64_t b = 0; b < y->sizes[0]; ++b)
    for (int64_t i = 0; i < y->sizes[1]; ++i)
      for (int64_t j = 0; j < y->sizes[2]; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < w->sizes[0]; ++k) {
          int64_t ofX[] = {b, i, k}, ofW[] = {k, j};
          sum += exp(*element(x, ofX)) * *element(w, ofW);
        }
        int64_t ofY[] = {b, i, j};
        *element(y, ofY) = (float)(scale->numbers[0] * sum);
      }
  return 0;
}

/* test.top: the largest number of every row, or, in the mode "negated", of its
   negative, and both shifts. */
EXPORT int32_t test_top(const tp_op_call *call) {
  int32_t wrong = check(call, 1, 1);
  const tp_attribute *mode = tp_find_attribute(call, "mode");
  const tp_attribute *shifts = tp_find_attribute(call, "shifts");
  const tp_tensor *x = &call->inputs[0], *top = &call->outputs[0];
  if (wrong || !mode || mode->kind != TP_TEXT || !shifts ||
      shifts->kind != TP_INTEGERS || shifts->count != 2 ||
      strcmp(call->op, "test.top") != 0)
    return wrong ? wrong : 3;
  float sign = strcmp(mode->text, "negated") == 0 ? -1 : 1;
  for (int64_t b = 0; b < x->sizes[0]; ++b)
    for (int64_t i = 0; i < x->sizes[1]; ++i) {
      int64_t ofTop[] = {b, i};
      float most = -INFINITY;
      for (int64_t k = 0; k < x->sizes[2]; ++k) {
        int64_t ofX[] = {b, i, k};
        float number = sign * *element(x, ofX);
        most = number > most ? number : most;
      }
      *element(top, ofTop) =
          most + (float)(shifts->integers[0] + shifts->integers[1]);
    }
  return 0;
}

/* test.halves: x / 2 and x * 2, of any shape. */
EXPORT int32_t test_halves(const tp_op_call *call) {
  int32_t wrong = check(call, 1, 2);
  const tp_tensor *x = &call->inputs[0];
  if (wrong)
    return wrong;
  int64_t index[TP_MAX_RANK] = {0};
  for (int32_t d = 0; d < x->rank; ++d)
    if (x->sizes[d] == 0)
      return 0;
  for (;;) {
    float number = *element(x, index);
    *element(&call->outputs[0], index) = number / 2;
    *element(&call->outputs[1], index) = number * 2;
    int32_t d = x->rank - 1;
    while (d >= 0 && ++index[d] == x->sizes[d])
      index[d--] = 0;
    if (d < 0)
      return 0;
  }
}

/* test.fails: fails where the first number is above 0. */
EXPORT int32_t test_fails(const tp_op_call *call) {
  int64_t first[TP_MAX_RANK] = {0};
  *element(&call->outputs[0], first) = 0;
  return *element(&call->inputs[0], first) > 0 ? 7 : 0;
}
