//===- run-ranks.c - runs an artifact through the C ABI -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   run-ranks MODEL.tp
//
// Runs one step on all ranks, each a thread of this process. All elements of
// all arguments, which have to be f32, are 1. Prints the first element of
// the first result.
//
//===----------------------------------------------------------------------===//

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
  tp_status *failure;
} rank_thread;

static int64_t count(const tp_tensor *tensor) {
  int64_t elements = 1;
  for (int d = 0; d < tensor->rank; ++d)
    elements *= tensor->sizes[d];
  return elements;
}

/* Fills the rank's part of an argument: a view of the rank's own buffer. A host
   with a local array of its own calls tp_rank_set_argument instead. An argument
   that the program does not use has no buffer. */
static tp_status *set_to_ones(rank_thread *rank, int64_t index) {
  tp_tensor global, local;
  tp_port_info info = {.struct_size = sizeof info};
  tp_status *status =
      tp_artifact_port_info(artifact, TP_ARGUMENT, index, &info);
  if (status || info.dead)
    return status;
  status = tp_artifact_port(artifact, TP_ARGUMENT, index, &global);
  if (!status)
    status = tp_rank_argument(rank->handle, index, &local);
  if (status)
    return status;
  float *ones = malloc(count(&global) * sizeof *ones);
  for (int64_t e = 0; e < count(&global); ++e)
    ones[e] = 1;
  global.data = ones;
  status =
      tp_scatter(artifact, TP_ARGUMENT, index, rank->number, &global, &local);
  free(ones);
  return status;
}

static tp_status *run_step(rank_thread *rank) {
  tp_rank_options options = {.struct_size = sizeof options};
  tp_status *status =
      tp_rank_create(artifact, transport, rank->number,
                     tp_artifact_size(artifact), &options, &rank->handle);
  int64_t arguments = tp_artifact_num_ports(artifact, TP_ARGUMENT);
  for (int64_t i = 0; i < arguments && !status; ++i)
    status = set_to_ones(rank, i);
  if (!status)
    status = tp_rank_barrier(rank->handle);
  if (!status)
    status = tp_rank_submit(rank->handle, NULL);
  if (!status)
    status = tp_rank_wait(rank->handle);
  if (!status)
    status = tp_rank_finish(rank->handle);
  return status;
}

/* A rank that fails ends the waits of the others, which never end otherwise
   before the first step. Threads of ranks return; they do not call exit. */
static void *run_rank(void *pointer) {
  rank_thread *rank = pointer;
  rank->failure = run_step(rank);
  if (rank->failure)
    tp_transport_abort(transport, rank->number,
                       tp_status_message(rank->failure));
  return NULL;
}

/* In the main thread, when no rank runs. */
static void check(tp_status *status) {
  if (!status)
    return;
  fprintf(stderr, "run-ranks: error: %s\n", tp_status_message(status));
  exit(1);
}

/* Only the rank that failed first has another code than TP_RANK_FAILED. */
static void check_ranks(const rank_thread *ranks, int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    if (tp_status_code(ranks[i].failure) != TP_RANK_FAILED)
      check(ranks[i].failure);
  for (int64_t i = 0; i < size; ++i)
    check(ranks[i].failure);
}

/* Both sides' tensors: this host only fills and prints f32. */
static void expect_f32(tp_port_side side) {
  for (int64_t i = 0; i < tp_artifact_num_ports(artifact, side); ++i) {
    tp_tensor global;
    tp_port_info info = {.struct_size = sizeof info};
    check(tp_artifact_port(artifact, side, i, &global));
    check(tp_artifact_port_info(artifact, side, i, &info));
    if (global.dtype != TP_F32 && !info.dead) {
      fprintf(stderr, "run-ranks: error: '%s': expected f32\n",
              tp_artifact_port_name(artifact, side, i));
      exit(1);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: run-ranks MODEL.tp\n");
    return 2;
  }
  check(tp_artifact_open(argv[1], &artifact));
  check(tp_transport_threads(artifact, &transport));
  expect_f32(TP_ARGUMENT);
  expect_f32(TP_RESULT);
  tp_tensor result; /* the whole one, of all ranks */
  check(tp_artifact_port(artifact, TP_RESULT, 0, &result));
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
  check_ranks(ranks, size);
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
