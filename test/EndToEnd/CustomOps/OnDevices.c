/* OnDevices.c - the functions of CustomOps.c for devices. Each puts a kernel
   into the stream that gets all of the call by value. On a device of test/Fakes
   the kernel is a function of this library, which runs the processor's. */
#define _GNU_SOURCE /* dladdr */
#include "tp/Runtime/CustomOp.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_WORDS = 256, MAX_DEVICES = 16 };

EXPORT int32_t test_mix(const tp_op_call *call);
EXPORT int32_t test_top(const tp_op_call *call);
EXPORT int32_t test_halves(const tp_op_call *call);
static const tp_op ops[] = {test_mix, test_top, test_halves};
static const char *const names[] = {"test.mix", "test.top", "test.halves"};
static const char *const attributeNames[] = {"scale", "mode", "shifts"};

/*--- the kernel -----------------------------------------------------------*/

static const int64_t *readTensors(const int64_t *word, int64_t count,
                                  tp_tensor *tensors) {
  memset(tensors, 0, count * sizeof(tp_tensor));
  for (int64_t i = 0; i < count; ++i) {
    tensors[i].data = (void *)*word++;
    tensors[i].dtype = (int32_t)*word++;
    tensors[i].rank = (int32_t)*word++;
    for (int32_t d = 0; d < tensors[i].rank; ++d) {
      tensors[i].sizes[d] = *word++;
      tensors[i].strides[d] = *word++;
    }
  }
  return word;
}

EXPORT void tp_test_custom_op(void *const *parameters) {
  int64_t words[MAX_WORDS];
  int64_t count = *(const int64_t *)parameters[0];
  for (int64_t i = 0; i < count; ++i)
    words[i] = *(const int64_t *)parameters[i];
  const int64_t *word = words + 1;
  int64_t which = *word++;
  tp_tensor inputs[4], outputs[4];
  tp_attribute attributes[4];
  tp_op_call call = {0};
  call.struct_size = sizeof(call);
  call.op = names[which];
  call.num_inputs = (int32_t)*word++;
  call.num_outputs = (int32_t)*word++;
  call.num_attributes = (int32_t)*word++;
  word = readTensors(word, call.num_inputs, inputs);
  word = readTensors(word, call.num_outputs, outputs);
  for (int32_t i = 0; i < call.num_attributes; ++i) {
    attributes[i].name = attributeNames[*word++];
    attributes[i].kind = (int32_t)*word++;
    attributes[i].count = *word++;
    attributes[i].integers = word;
    attributes[i].numbers = (const double *)word;
    attributes[i].text = (const char *)word;
    word += attributes[i].kind == TP_TEXT ? 1 : attributes[i].count;
  }
  call.inputs = inputs;
  call.outputs = outputs;
  call.attributes = attributes;
  if (ops[which](&call) != 0)
    abort();
}

/*--- its launches ---------------------------------------------------------*/

typedef struct {
  int (*load)(void **, const void *, unsigned, int *, void **);
  int (*find)(void **, void *, const char *);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, unsigned, void *, void **, void **);
  int (*fill)(uint64_t, unsigned char, size_t, void *);
  int (*isCapturing)(void *, int *);
  /* By device. */
  void *kernels[MAX_DEVICES];
} Driver;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Driver driver;

static int32_t openDriver(void) {
  const char *path = getenv("TP_CUDA_DRIVER");
  void *library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
  if (!library)
    return 10;
  *(void **)&driver.load = dlsym(library, "cuModuleLoadDataEx");
  *(void **)&driver.find = dlsym(library, "cuModuleGetFunction");
  *(void **)&driver.launch = dlsym(library, "cuLaunchKernel");
  *(void **)&driver.fill = dlsym(library, "cuMemsetD8Async");
  *(void **)&driver.isCapturing = dlsym(library, "cuStreamIsCapturing");
  return driver.load && driver.find && driver.launch && driver.fill &&
                 driver.isCapturing
             ? 0
             : 11;
}

/* The kernel on a device; its first call there loads the code. */
static int32_t kernelOn(int32_t device, void *stream, void **kernel) {
  int32_t wrong = 0;
  pthread_mutex_lock(&mutex);
  if (!driver.load)
    wrong = openDriver();
  if (!wrong && !driver.kernels[device]) {
    int captures = 0;
    Dl_info own;
    char image[4096];
    void *module = NULL;
    dladdr((void *)&kernelOn, &own);
    snprintf(image, sizeof(image), "//host %s\n", own.dli_fname);
    if (driver.isCapturing(stream, &captures) || captures)
      wrong = 12;
    else if (driver.load(&module, image, 0, NULL, NULL) ||
             driver.find(&driver.kernels[device], module, "tp_test_custom_op"))
      wrong = 13;
  }
  *kernel = driver.kernels[device];
  pthread_mutex_unlock(&mutex);
  return wrong;
}

static int64_t *writeTensors(int64_t *word, int32_t count,
                             const tp_tensor *tensors) {
  for (int32_t i = 0; i < count; ++i) {
    *word++ = (int64_t)tensors[i].data;
    *word++ = tensors[i].dtype;
    *word++ = tensors[i].rank;
    for (int32_t d = 0; d < tensors[i].rank; ++d) {
      *word++ = tensors[i].sizes[d];
      *word++ = tensors[i].strides[d];
    }
  }
  return word;
}

static int64_t *writeAttributes(int64_t *word, const tp_op_call *call) {
  for (int32_t i = 0; i < call->num_attributes; ++i) {
    const tp_attribute *attribute = &call->attributes[i];
    int64_t name = 0;
    while (strcmp(attributeNames[name], attribute->name) != 0)
      ++name;
    *word++ = name;
    *word++ = attribute->kind;
    *word++ = attribute->count;
    if (attribute->kind == TP_TEXT)
      memcpy(word++, attribute->text, strlen(attribute->text) + 1);
    for (int64_t k = 0; k < attribute->count; ++k)
      memcpy(word++,
             attribute->kind == TP_INTEGERS ? (void *)&attribute->integers[k]
                                            : (void *)&attribute->numbers[k],
             sizeof(int64_t));
  }
  return word;
}

static int32_t launch(int64_t which, const tp_op_call *call) {
  if (call->struct_size < sizeof(tp_op_call) || !call->stream ||
      call->outputs[0].memory_space != TP_DEVICE)
    return 14;
  void *kernel;
  int32_t wrong = kernelOn(call->outputs[0].device, call->stream, &kernel);
  if (wrong)
    return wrong;
  int64_t words[MAX_WORDS] = {0}, *word = words + 1;
  *word++ = which;
  *word++ = call->num_inputs;
  *word++ = call->num_outputs;
  *word++ = call->num_attributes;
  word = writeTensors(word, call->num_inputs, call->inputs);
  word = writeTensors(word, call->num_outputs, call->outputs);
  word = writeAttributes(word, call);
  words[0] = word - words;
  size_t bytes = words[0] * sizeof(int64_t);
  /* CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END. */
  void *parameters[] = {(void *)1, words, (void *)2, &bytes, NULL};
  return driver.launch(kernel, 1, 1, 1, 1, 1, 1, 0, call->stream, NULL,
                       parameters)
             ? 15
             : 0;
}

EXPORT int32_t test_mix_cuda(const tp_op_call *call) { return launch(0, call); }
EXPORT int32_t test_top_cuda(const tp_op_call *call) { return launch(1, call); }
EXPORT int32_t test_halves_cuda(const tp_op_call *call) {
  return launch(2, call);
}

/* Fails on the second device. */
EXPORT int32_t test_fails_cuda(const tp_op_call *call) {
  const tp_tensor *output = &call->outputs[0];
  void *kernel;
  if (output->device == 1)
    return 7;
  int32_t wrong = kernelOn(output->device, call->stream, &kernel);
  return wrong ? wrong
               : driver.fill((uint64_t)output->data, 0,
                             output->sizes[0] * sizeof(float), call->stream);
}
