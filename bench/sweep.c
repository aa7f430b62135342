//===- sweep.c - reads memory, as fast as this machine does ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built by sweep.py. A step of a decoder reads all weights once; no program
// with as many threads can be faster than this one.
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef uint64_t Words __attribute__((vector_size(64)));
// A part's size is a multiple of `most` lines.
enum { most = 16, mostThreads = 64 };

typedef struct {
  Words *data;
  size_t count;
  int way;
  uint64_t sum;
} Part;

typedef struct {
  size_t threads, bytes;
  Part parts[mostThreads];
} Sweep;

/// Several lines at a time, side by side or from as many places.
static inline __attribute__((always_inline)) uint64_t sum(const Part *part,
                                                          size_t lines,
                                                          int inStreams) {
  // As many as fit into registers.
  Words sums[4] = {};
  const Words *data = part->data;
  size_t each = part->count / lines;
  for (size_t i = 0; i < each; ++i)
    for (size_t j = 0; j < lines; ++j)
      sums[j % 4] += data[inStreams ? j * each + i : i * lines + j];
  Words total = sums[0] + sums[1] + sums[2] + sums[3];
  return total[0] + total[7];
}

static void *readPart(void *argument) {
  Part *part = argument;
  switch (part->way) {
  case 0:
    part->sum = sum(part, 8, 0);
    break;
  case 1:
    part->sum = sum(part, 8, 1);
    break;
  case 2:
    part->sum = sum(part, 16, 1);
    break;
  default:
    abort();
  }
  return NULL;
}

int sweep_ways() { return 3; }

/// Memory of `bytes` in all, a part of it for each thread, or NULL.
Sweep *sweep_create(size_t threads, size_t bytes) {
  Sweep *sweep = calloc(1, sizeof(Sweep));
  if (!sweep || threads < 1 || threads > mostThreads)
    return NULL;
  sweep->threads = threads;
  size_t block = most * sizeof(Words);
  sweep->bytes = (bytes / threads + block - 1) / block * block;
  for (size_t i = 0; i < threads; ++i) {
    void *data = mmap(NULL, sweep->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
      return NULL;
    madvise(data, sweep->bytes, MADV_HUGEPAGE);
    memset(data, (int)i + 1, sweep->bytes);
    sweep->parts[i] = (Part){data, sweep->bytes / sizeof(Words), 0, 0};
  }
  return sweep;
}

/// Reads all of it, each part in a thread of its own, in one of the ways.
void sweep_run(Sweep *sweep, int way) {
  for (size_t i = 0; i < sweep->threads; ++i)
    sweep->parts[i].way = way;
  pthread_t threads[mostThreads];
  for (size_t i = 1; i < sweep->threads; ++i)
    if (pthread_create(&threads[i], NULL, readPart, &sweep->parts[i]))
      abort();
  readPart(&sweep->parts[0]);
  for (size_t i = 1; i < sweep->threads; ++i)
    pthread_join(threads[i], NULL);
}

void sweep_free(Sweep *sweep) {
  for (size_t i = 0; i < sweep->threads; ++i)
    munmap(sweep->parts[i].data, sweep->bytes);
  free(sweep);
}
