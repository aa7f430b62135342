//===- run-ranks.c - runs an artifact through the C ABI -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   run-ranks MODEL.tp
//
// Runs three steps on all ranks, each a thread of this process. All elements
// of all arguments, which have to be f32, are 1. Prints the first element of
// the first result of the last step. On every path all that was made is freed.
//
//===----------------------------------------------------------------------===//

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <tp/Runtime/Runtime.h>

static tp_artifact *artifact;
static tp_transport *transport;
enum { num_steps = 3 };

/* A rank: what its thread is given and what it leaves. */
typedef struct {
  int64_t number;
  pthread_t thread;
  tp_rank *handle;
  tp_status *failure;
} rank_thread;

static int64_t count(const tp_tensor *tensor) {
  int64_t elements = 1;
  for (int d = 0; d < tensor->rank; ++d)
    elements *= tensor->sizes[d];
  return elements;
}

/* Gives the rank its part of an argument. A host with that part alone calls
   tp_rank_set_argument instead. An argument that the program does not use has
   no buffer. */
static tp_status *set_to_ones(rank_thread *rank, int64_t index) {
  tp_tensor global;
  tp_port_info info = {.struct_size = sizeof info};
  tp_status *status =
      tp_artifact_port_info(artifact, TP_ARGUMENT, index, &info);
  if (status || info.dead)
    return status;
  status = tp_artifact_port(artifact, TP_ARGUMENT, index, &global);
  if (status)
    return status;
  float *ones = malloc(count(&global) * sizeof *ones);
  for (int64_t e = 0; e < count(&global); ++e)
    ones[e] = 1;
  global.data = ones;
  status = tp_rank_scatter(rank->handle, artifact, index, &global);
  free(ones);
  return status;
}

static tp_status *run_steps(rank_thread *rank) {
  tp_rank_options options = {.struct_size = sizeof options};
  tp_status *status =
      tp_rank_create(artifact, transport, rank->number,
                     tp_artifact_size(artifact), &options, &rank->handle);
  int64_t arguments = tp_artifact_num_ports(artifact, TP_ARGUMENT);
  for (int64_t i = 0; i < arguments && !status; ++i)
    status = set_to_ones(rank, i);
  if (!status)
    status = tp_rank_barrier(rank->handle);
  for (int step = 0; step < num_steps && !status; ++step) {
    status = tp_rank_submit(rank->handle, NULL);
    if (!status)
      status = tp_rank_wait(rank->handle);
  }
  if (!status)
    status = tp_rank_finish(rank->handle);
  return status;
}

/* A rank that fails ends the waits of the others, which never end otherwise
   before the first step. Threads of ranks return; they do not call exit. */
static void *run_rank(void *pointer) {
  rank_thread *rank = pointer;
  rank->failure = run_steps(rank);
  if (rank->failure)
    tp_transport_abort(transport, rank->number,
                       tp_status_message(rank->failure));
  return NULL;
}

static bool print_failure(const tp_status *status) {
  fprintf(stderr, "run-ranks: error: %s\n", tp_status_message(status));
  return true;
}

/* Whether a call failed; its status ends here. */
static bool failed(tp_status *status) {
  bool is_failure = status && print_failure(status);
  tp_status_free(status);
  return is_failure;
}

/* Only the rank that failed first has another code than TP_RANK_FAILED. */
static bool any_failed(const rank_thread *ranks, int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    if (ranks[i].failure && tp_status_code(ranks[i].failure) != TP_RANK_FAILED)
      return print_failure(ranks[i].failure);
  for (int64_t i = 0; i < size; ++i)
    if (ranks[i].failure)
      return print_failure(ranks[i].failure);
  return false;
}

/* One side's tensors: this host only fills and prints f32. */
static bool is_f32(tp_port_side side) {
  for (int64_t i = 0; i < tp_artifact_num_ports(artifact, side); ++i) {
    tp_tensor global;
    tp_port_info info = {.struct_size = sizeof info};
    if (failed(tp_artifact_port(artifact, side, i, &global)) ||
        failed(tp_artifact_port_info(artifact, side, i, &info)))
      return false;
    if (global.dtype != TP_F32 && !info.dead) {
      fprintf(stderr, "run-ranks: error: '%s': expected f32\n",
              tp_artifact_port_name(artifact, side, i));
      return false;
    }
  }
  return true;
}

/* Returns when no rank runs any more. */
static bool run_ranks(rank_thread *ranks, int64_t size) {
  int64_t started = 0;
  for (; started < size; ++started) {
    rank_thread *rank = &ranks[started];
    rank->number = started;
    if (pthread_create(&rank->thread, NULL, run_rank, rank) != 0)
      break;
  }
  if (started < size) {
    fprintf(stderr, "run-ranks: error: cannot start a thread\n");
    tp_transport_abort(transport, started, "cannot start a thread");
  }
  for (int64_t i = 0; i < started; ++i)
    pthread_join(ranks[i].thread, NULL);
  return started == size && !any_failed(ranks, size);
}

/* The ranks have the results of the last step. */
static bool assemble(const rank_thread *ranks, int64_t size,
                     const tp_tensor *result) {
  for (int64_t i = 0; i < size; ++i)
    if (failed(
            tp_rank_assemble(ranks[i].handle, artifact, TP_RESULT, 0, result)))
      return false;
  return true;
}

static bool run(const char *path) {
  tp_tensor result; /* the whole one, of all ranks */
  if (failed(tp_artifact_open(path, &artifact)) ||
      failed(tp_transport_threads(artifact, &transport)) ||
      failed(tp_artifact_port(artifact, TP_RESULT, 0, &result)) ||
      !is_f32(TP_ARGUMENT) || !is_f32(TP_RESULT))
    return false;
  int64_t size = tp_artifact_size(artifact);
  rank_thread *ranks = calloc(size, sizeof *ranks);
  result.data = calloc(count(&result), sizeof(float));
  bool done = run_ranks(ranks, size) && assemble(ranks, size, &result);
  if (done)
    printf("%g on %d ranks\n", ((float *)result.data)[0], (int)size);
  for (int64_t i = 0; i < size; ++i) {
    tp_status_free(ranks[i].failure);
    tp_rank_free(ranks[i].handle);
  }
  free(result.data);
  free(ranks);
  return done;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: run-ranks MODEL.tp\n");
    return 2;
  }
  bool done = run(argv[1]);
  tp_transport_free(transport);
  tp_artifact_close(artifact);
  return done ? 0 : 1;
}
