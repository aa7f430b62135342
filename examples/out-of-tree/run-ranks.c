/*===- run-ranks.c - runs an artifact through the C ABI -----------*- C -*-===*\
|*                                                                            *|
|* Part of tp, under the Apache License v2.0 with LLVM Exceptions.            *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|*   run-ranks MODEL.tp                                                       *|
|*                                                                            *|
|* Runs one step on all ranks, each a thread of this process. All elements of *|
|* all arguments, which have to be f32, are 1. Prints the first element of    *|
|* the first result.                                                          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tp/Runtime/Runtime.h>

static tp_artifact *artifact;
static tp_transport *transport;

/* A rank: what its thread is given and what it leaves. */
typedef struct {
  int64_t number;
  tp_rank *handle;
} rank_thread;

static void check(tp_status *status) {
  if (!status)
    return;
  fprintf(stderr, "run-ranks: error: %s\n", tp_status_message(status));
  exit(1);
}

static int64_t count(const tp_tensor *tensor) {
  int64_t elements = 1;
  for (int d = 0; d < tensor->rank; ++d)
    elements *= tensor->sizes[d];
  return elements;
}

static void *run_rank(void *pointer) {
  rank_thread *rank = pointer;
  tp_rank_options options = {.struct_size = sizeof options};
  check(tp_rank_create(artifact, transport, rank->number,
                       tp_artifact_size(artifact), &options, &rank->handle));
  int64_t arguments = tp_artifact_num_ports(artifact, TP_ARGUMENT);
  for (int64_t i = 0; i < arguments; ++i) {
    tp_tensor global, local;
    check(tp_artifact_port(artifact, TP_ARGUMENT, i, &global));
    check(tp_rank_argument(rank->handle, i, &local));
    if (global.dtype != TP_F32) {
      fprintf(stderr, "run-ranks: error: argument %d: expected f32\n", (int)i);
      exit(1);
    }
    float *ones = malloc(count(&global) * sizeof *ones);
    for (int64_t e = 0; e < count(&global); ++e)
      ones[e] = 1;
    global.data = ones;
    check(tp_scatter(artifact, TP_ARGUMENT, i, rank->number, &global, &local));
    free(ones);
  }
  check(tp_rank_barrier(rank->handle));
  check(tp_rank_submit(rank->handle, NULL));
  check(tp_rank_wait(rank->handle));
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: run-ranks MODEL.tp\n");
    return 2;
  }
  check(tp_artifact_open(argv[1], &artifact));
  check(tp_transport_threads(artifact, &transport));
  tp_tensor result; /* the whole one, of all ranks */
  check(tp_artifact_port(artifact, TP_RESULT, 0, &result));
  if (result.dtype != TP_F32) {
    fprintf(stderr, "run-ranks: error: result 0: expected f32\n");
    return 1;
  }
  result.data = calloc(count(&result), sizeof(float));

  int64_t size = tp_artifact_size(artifact);
  pthread_t *threads = malloc(size * sizeof *threads);
  rank_thread *ranks = calloc(size, sizeof *ranks);
  for (int64_t i = 0; i < size; ++i) {
    ranks[i].number = i;
    if (pthread_create(&threads[i], NULL, run_rank, &ranks[i]) != 0) {
      fprintf(stderr, "run-ranks: error: cannot start a thread\n");
      return 1;
    }
  }
  for (int64_t i = 0; i < size; ++i)
    pthread_join(threads[i], NULL);
  for (int64_t i = 0; i < size; ++i) {
    tp_tensor local;
    check(tp_rank_result(ranks[i].handle, 0, &local));
    check(tp_assemble(artifact, TP_RESULT, 0, i, &local, &result));
    tp_rank_free(ranks[i].handle);
  }
  printf("%g on %d ranks\n", ((float *)result.data)[0], (int)size);

  free(threads);
  free(ranks);
  free(result.data);
  tp_transport_free(transport);
  tp_artifact_close(artifact);
  return 0;
}
