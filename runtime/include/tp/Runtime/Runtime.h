/*===- Runtime.h - the C ABI of the tp runtime --------------------*- C -*-===*
 *
 * Part of tp, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===
 *
 * Loads an artifact and runs its program, one handle per rank. No call takes
 * all ranks: a host drives each rank from a thread or a process of its own,
 * and the ranks join in the collectives of the program through a transport.
 *
 * A rank runs on the CPU or on an NVIDIA device, as the artifact's target
 * says; this header needs nothing of CUDA's.
 *
 * Every call that can fail returns NULL on success, or a status that the
 * caller frees. Handles are opaque; an artifact and a transport may be used
 * by several threads at once, a rank by one thread at a time. An artifact
 * and a transport must outlive the ranks made from them. Every call that
 * frees or closes takes NULL, and does nothing then.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TP_RUNTIME_RUNTIME_H
#define TP_RUNTIME_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): these are C names. */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TP_API __attribute__((visibility("default")))
#else
#define TP_API
#endif

/** Grows by one with every change that an old caller could notice. */
#define TP_ABI_VERSION 12
/** TP_ABI_VERSION of the library that is loaded. */
TP_API uint32_t tp_abi_version(void);

/*--- status ---------------------------------------------------------------*/

typedef enum {
  TP_OK = 0,
  TP_INVALID_ARGUMENT = 1, /**< not what the artifact allows               */
  TP_FILE = 2,             /**< cannot be opened, read or written          */
  TP_FORMAT = 3,           /**< a file is damaged or contradicts itself    */
  TP_UNSUPPORTED = 4,      /**< well formed, but not by this build         */
  TP_TIMEOUT = 5,          /**< a rank did not join a collective in time   */
  TP_RANK_FAILED = 6,      /**< another rank failed or died                */
  TP_ASSERT = 7,           /**< a check in the program failed              */
  TP_SYSTEM = 8,           /**< the operating system refused               */
  TP_DEVICE_FAILED = 9     /**< a device or a library of it failed         */
} tp_code;

typedef struct tp_status tp_status;

/** TP_OK for NULL. */
TP_API tp_code tp_status_code(const tp_status *status);
/** One line; "" for NULL. Lives as long as the status. */
TP_API const char *tp_status_message(const tp_status *status);
TP_API void tp_status_free(tp_status *status);

/*--- tensors --------------------------------------------------------------*/

typedef enum {
  TP_F64 = 0,
  TP_F32 = 1,
  TP_F16 = 2,
  TP_BF16 = 3,
  TP_I64 = 4,
  TP_I32 = 5,
  TP_I16 = 6,
  TP_I8 = 7,
  TP_I1 = 8,    /**< one byte, 0 or 1 */
  TP_INDEX = 9, /**< 8 bytes          */
  TP_F8E4M3FN = 10,
  TP_F8E5M2 = 11,
  TP_F8E4M3FNUZ = 12,
  TP_F8E5M2FNUZ = 13,
  TP_U64 = 14, /**< unsigned: arguments and results only */
  TP_U32 = 15,
  TP_U16 = 16,
  TP_U8 = 17
} tp_dtype;

typedef enum {
  TP_HOST = 0, /**< memory the CPU reads and writes */
  TP_DEVICE = 1
} tp_memory_space;

#define TP_MAX_RANK 16

/** How a tensor crosses the ABI; it owns nothing. */
typedef struct {
  void *data;
  int32_t dtype; /**< tp_dtype */
  int32_t rank;  /**< number of dimensions, at most TP_MAX_RANK */
  int64_t sizes[TP_MAX_RANK];
  int64_t strides[TP_MAX_RANK]; /**< in elements */
  int32_t memory_space;         /**< tp_memory_space */
  int32_t device;               /**< of TP_DEVICE: its number; 0 on the host */
} tp_tensor;

/*--- ops of users ---------------------------------------------------------*/

/** Loads a shared object with functions that compute ops of dialects that tp
    does not know (CustomOp.h, docs/custom-ops.md), for all artifacts that this
    process opens afterwards. It stays loaded. From version 8 on. */
TP_API tp_status *tp_link(const char *path);

/*--- artifact -------------------------------------------------------------*/

typedef struct tp_artifact tp_artifact;

/** Reads the file into memory, checks it and loads its code. What happens to
    the file afterwards does not matter. */
TP_API tp_status *tp_artifact_open(const char *path, tp_artifact **artifact);
TP_API void tp_artifact_close(tp_artifact *artifact);

/** The manifest (docs/artifact.md), zero-terminated JSON. */
TP_API const char *tp_artifact_manifest(const tp_artifact *artifact);
TP_API int64_t tp_artifact_size(const tp_artifact *artifact); /**< ranks */

/** The functions of the model that the artifact has, at least one. From version
    7 on, as all that names an entry. */
TP_API int64_t tp_artifact_num_entries(const tp_artifact *artifact);
/** NULL if there is none; lives as long as the artifact. */
TP_API const char *tp_artifact_entry_name(const tp_artifact *artifact,
                                          int64_t index);
/** The same artifact with the ports of another entry: every call below that
    takes an artifact and a port is for these then. The handle that
    tp_artifact_open makes has those of the first entry. It lives as long as
    that, which it is asked of; it is not closed. */
TP_API tp_status *tp_artifact_entry(const tp_artifact *artifact,
                                    const char *name,
                                    const tp_artifact **entry);

typedef enum { TP_ARGUMENT = 0, TP_RESULT = 1 } tp_port_side;

TP_API int64_t tp_artifact_num_ports(const tp_artifact *artifact,
                                     tp_port_side side);
/** The index of the port called `name`, or `kind:name`. */
TP_API tp_status *tp_artifact_find_port(const tp_artifact *artifact,
                                        tp_port_side side, const char *name,
                                        int64_t *index);
/** The shortest name by which tp_artifact_find_port finds the port: its name,
    or `kind:name` where the name alone is not unique. NULL if there is no such
    port, artifact or memory. Lives as long as the artifact. */
TP_API const char *tp_artifact_port_name(const tp_artifact *artifact,
                                         tp_port_side side, int64_t index);
/** dtype and global sizes of a port, data NULL, strides row-major. */
TP_API tp_status *tp_artifact_port(const tp_artifact *artifact,
                                   tp_port_side side, int64_t index,
                                   tp_tensor *global);

/** What else there is to know of a port before there are ranks. */
typedef struct {
  uint32_t struct_size; /**< sizeof(tp_port_info) of the caller, who sets it */
  /** 1: an argument that the program does not use. It has no buffer: it is
      neither set nor read. */
  int32_t dead;
  /** "parameter", "user_input", "user_output" and the like (docs/artifact.md);
      lives as long as the artifact. */
  const char *kind;
  /** Of a result: the index of the argument whose next value it is, which the
      argument has after a step that succeeds; -1 of all other ports. */
  int64_t updates;
  /** Every rank's tensor: dtype, local sizes, strides of the rank's buffer;
      data NULL. The sizes that tp_scatter and tp_rank_set_argument expect. */
  tp_tensor local;
  /** How many ranks hold each element. 1: the ranks' parts do not overlap, and
      calls of tp_assemble or tp_rank_assemble for several ranks may. As many as
      there are ranks: each has the whole tensor. Ranks whose numbers are
     partial have no copies of each other's. From version 11 on. */
  int64_t copies;
} tp_port_info;
/** Fills the members that the caller's struct has. From version 5 on. */
TP_API tp_status *tp_artifact_port_info(const tp_artifact *artifact,
                                        tp_port_side side, int64_t index,
                                        tp_port_info *info);
/** The n-th name, from 0 on, that the port's tensor may have in a file of
    weights, which has to have one of them: a tied weight has several. `*key` is
    NULL after the last, and at once for a port that is in no file. It lives as
    long as the artifact. A weight that is joined from several tensors of the
    file is TP_UNSUPPORTED: `segments` of the manifest has their keys. From
    version 10 on. */
TP_API tp_status *tp_artifact_port_key(const tp_artifact *artifact,
                                       tp_port_side side, int64_t index,
                                       int64_t n, const char **key);

/*--- transport ------------------------------------------------------------*/

/** Connects the ranks of one run. */
typedef struct tp_transport tp_transport;

/** For ranks that are threads of this process. */
TP_API tp_status *tp_transport_threads(const tp_artifact *artifact,
                                       tp_transport **transport);
/** Shared memory for ranks that are processes of this host. The parent makes
    it; `*descriptor` is a file that children inherit and attach to, with the
    same artifact. */
TP_API tp_status *tp_transport_processes(const tp_artifact *artifact,
                                         tp_transport **transport,
                                         int *descriptor);
TP_API tp_status *tp_transport_attach(const tp_artifact *artifact,
                                      int descriptor, tp_transport **transport);

/** Where ranks that a launcher starts, one per process, find each other. */
typedef struct {
  uint32_t struct_size; /**< sizeof(tp_store_options) of the caller */
  /** "tcp://HOST:PORT", where rank 0 serves the others, on any hosts, for
      artifacts of target cuda; or a folder that exists, for ranks of one host.
      The port has no password: it belongs in a trusted network. */
  const char *address;
  /** Ranks of a run of another name are refused; NULL stands for "". Two runs
      of one name and artifact must not start in one folder at a time. */
  const char *run;
  double start_timeout_seconds; /**< to find rank 0; 0 stands for 300 */
  double timeout_seconds;       /**< tcp: a rank that is not heard of for so
                                     long is lost; 0 stands for 300 */
} tp_store_options;

/** Waits until all ranks have come, each once: a second process of a rank is
    refused. A process that goes away before tp_rank_finish ends the run of the
    others. */
TP_API tp_status *tp_transport_store(const tp_artifact *artifact, int64_t rank,
                                     int64_t size,
                                     const tp_store_options *options,
                                     tp_transport **transport);

/** Ends the waits of all ranks, those that begin later too: they return
    TP_RANK_FAILED with this message; the first message stays. For a host that
   gives up a rank after an error, or sees one die. A step that failed has ended
   the run by itself. */
TP_API void tp_transport_abort(tp_transport *transport, int64_t rank,
                               const char *message);
/** What a rank is at, for messages about one that does not answer: "command 5,
    all_reduce 'linear_3' of module 'layers.0.wo'". Writes as much of it as
    `size` bytes hold, with a 0 behind it, and returns how many bytes all of it
    has. The artifact is the one of the transport. Any thread may call it. From
    version 12 on. */
TP_API int64_t tp_transport_describe(const tp_transport *transport,
                                     const tp_artifact *artifact, int64_t rank,
                                     char *text, int64_t size);
TP_API void tp_transport_free(tp_transport *transport);

/*--- rank -----------------------------------------------------------------*/

typedef struct tp_rank tp_rank;

/** A queue of device work that the caller made. NULL stands for the rank's own,
    which is the only one on the CPU. */
typedef struct tp_stream tp_stream;
/** Names a cudaStream_t (CUstream), which the caller keeps; NULL is CUDA's
    default stream. The handle may be freed as soon as it has been given to a
    rank. */
TP_API tp_status *tp_stream_create(void *cuda_stream, tp_stream **stream);
TP_API void tp_stream_free(tp_stream *stream);

/** Zeros stand for the defaults. A rank on the CPU refuses the last four. */
typedef struct {
  uint32_t struct_size;   /**< sizeof(tp_rank_options) of the caller */
  uint32_t poison;        /**< fill padding and arena before every step */
  double timeout_seconds; /**< of one collective; 0 stands for 300 */
  /* From version 3 on. */
  double start_timeout_seconds; /**< to connect with others; 0: 300 */
  int32_t use_device; /**< 1: use `device`; 0: the rank's number modulo the
                           number of devices */
  int32_t device;     /**< as cudaSetDevice counts */
  /** What copies, and steps without a stream of their own, are ordered with. */
  const tp_stream *stream;
  /** An ncclComm_t of all ranks in their order, on the rank's device. The rank
      splits its own communicators from it when it is created, and does not use
      it afterwards. NULL: ranks make one through the transport. */
  void *nccl_communicator;
} tp_rank_options;

/** `size` must be tp_artifact_size. The transport must be one for this
   artifact, without another rank of this number. The artifact is the handle of
   tp_artifact_open: entries are asked of the rank (tp_rank_entry). Its target
   says whether the rank is on the CPU or on a device. Allocates arguments,
   results and arena once. The host sets every argument that is not dead before
   the first step, states too; contents stay from step to step.

    Ranks on a device connect here: every rank must make its own, at the same
    time. A failure of one ends the run of all. After a failure of a device the
    rank makes no call to it: free the rank, and end the process, because the
    device may hang. */
TP_API tp_status *tp_rank_create(const tp_artifact *artifact,
                                 tp_transport *transport, int64_t rank,
                                 int64_t size, const tp_rank_options *options,
                                 tp_rank **handle);
TP_API void tp_rank_free(tp_rank *handle);

/** The same rank with another entry: tp_rank_submit runs that, and ports are
    its own (tp_artifact_entry). Both are in one memory: an argument that both
    have is one tensor, which is set once, and a state that one updates is what
    the other reads. One step is under way at a time; all ranks run the same
    entries in the same order. The handle lives as long as the one of
    tp_rank_create, which it is asked of; it is not freed. A rank on a device
    has the first entry only. */
TP_API tp_status *tp_rank_entry(tp_rank *handle, const char *name,
                                tp_rank **entry);

/** Copies this rank's part of a whole array in, which is in host memory and of
    any strides, as tp_scatter cuts it. The argument counts as set when the call
    has succeeded. `artifact` is the handle of the rank's entry, by which the
    index was found; one of another entry is an error. Local; ranks may make it
    at one time. From version 11 on. */
TP_API tp_status *tp_rank_scatter(tp_rank *handle, const tp_artifact *artifact,
                                  int64_t index, const tp_tensor *global);
/** The reverse, of what tp_rank_get_tensor reads, as tp_assemble joins it: for
    every rank it fills the whole array. Ranks may make it at one time where
    their parts do not overlap (`copies` of tp_port_info is 1). From version 11
    on. */
TP_API tp_status *tp_rank_assemble(tp_rank *handle, const tp_artifact *artifact,
                                   tp_port_side side, int64_t index,
                                   const tp_tensor *global);

/** Copies this rank's local tensor in (sizes: the port's local shape, any
    strides). A rank on a device takes one in host memory, or in memory of its
    own device. The copy has ended when the call comes back, and the argument
    counts as set if it has succeeded. It reads device memory in the order of
   the options' stream; without one, what is to be copied must be there already.
    The view of the argument itself sets nothing (tp_rank_mark_set): it is an
    error unless the argument is set. */
TP_API tp_status *tp_rank_set_argument(tp_rank *handle, int64_t index,
                                       const tp_tensor *local);
/** The reverse, of an argument or a result, after tp_rank_wait. An argument
    that was never set, or that is lost, is an error, as is a result before the
    first step of its entry.

    A result that updates an argument is that argument, the state as it is now:
    it can be read whenever the argument can, and it has what another entry's
    step or the host has made of it since. Other results have what the last step
    of their entry computed, also of one that ended with TP_ASSERT. */
TP_API tp_status *tp_rank_get_tensor(tp_rank *handle, tp_port_side side,
                                     int64_t index, const tp_tensor *local);
/** Views of the rank's own buffers, on a device in device memory: sizes are the
    local shape, strides undo the storage permutation. Valid while the handle
    lives, over all steps: a result's view has what tp_rank_get_tensor reads,
    from tp_rank_wait until the next tp_rank_submit. That of a result that
    updates an argument is the argument's, and an error while that is lost.

    A view sets nothing. A host that writes an argument by its view calls
    tp_rank_mark_set when all valid elements are written, before the first step
    and after the argument was lost; it may write again before every step.
   Before version 11 the view alone counted as set. */
TP_API tp_status *tp_rank_argument(tp_rank *handle, int64_t index,
                                   tp_tensor *local);
TP_API tp_status *tp_rank_result(tp_rank *handle, int64_t index,
                                 tp_tensor *local);
/** The argument has been written by its view: it counts as set, and is not lost
    any more. From version 11 on. */
TP_API tp_status *tp_rank_mark_set(tp_rank *handle, int64_t index);

/** Waits until every rank has called it, without a time-out: loading may take
    one rank much longer than another. Comes before the first step; steps then
    start within the time-out of one another. It may be called again between
    steps, by all ranks equally often, but not from tp_rank_submit to
    tp_rank_wait. */
TP_API tp_status *tp_rank_barrier(tp_rank *handle);

/** Starts one step. An argument that was never set is an error, and no step
    starts: the other ranks wait until this one submits, or until
    tp_transport_abort. On the CPU the step runs inside this call. On a device
   it runs behind what the stream was given before, and what the stream is given
    after the call runs behind the step; the host does not wait. NULL stands for
    the options' stream, and without one for none. The stream must not be one
    that is being captured. */
TP_API tp_status *tp_rank_submit(tp_rank *handle, const tp_stream *stream);
/** Waits for the end of the step: its one status, the same on all ranks. After
    TP_OK arguments that results update have their next values. After another
    code they are as they were before the step, or, those that are updated in
    place, lost: tp_rank_get_tensor and tp_rank_submit refuse them until they
   are set again.
   From version 6 on; before, the host fed states back.

   After TP_ASSERT the step has run to its end: results that update nothing have
   what it computed, in which what depends on the failed check means nothing.
   After any other error the run has ended, and results mean nothing. */
TP_API tp_status *tp_rank_wait(tp_rank *handle);

/** After the last step: waits until every rank has called it. The rank and its
    transport can be freed then without the others taking it for a failure. */
TP_API tp_status *tp_rank_finish(tp_rank *handle);

/*--- global and local arrays ----------------------------------------------*/

/* These three need no rank: any thread may call them, and calls may overlap
   that write different memory and read none that another one writes. A local
   tensor that is the view of a rank has to be the port's: with that of another
   one, such as another entry's of the same index, they are an error. */

/** Copies rank `rank`'s part of a global array into its local one; elements
    that are padding are left alone. Of an argument that is a partial sum or
    product the first rank along the partial axes gets the elements, and the
    others the number that changes nothing; of one that is a partial average,
    maximum or minimum every rank gets the elements. */
TP_API tp_status *tp_scatter(const tp_artifact *artifact, tp_port_side side,
                             int64_t index, int64_t rank,
                             const tp_tensor *global, const tp_tensor *local);
/** The reverse; called for every rank it fills the global array. Calls for
    several ranks may overlap if their parts of the global array do not. Parts
    overlap, and are equal then, only where the port is replicated along an axis
    of the mesh, where `copies` of tp_port_info is above 1: call it for one of
    these ranks, or for one after the other. A port that is partial is refused:
    see tp_assemble_all. */
TP_API tp_status *tp_assemble(const tp_artifact *artifact, tp_port_side side,
                              int64_t index, int64_t rank,
                              const tp_tensor *local, const tp_tensor *global);
/** Makes the global array of the local ones of all `size` ranks, in the order
    of the ranks. What is partial is reduced as an all_reduce on the CPU does.
    From version 9 on. */
TP_API tp_status *tp_assemble_all(const tp_artifact *artifact,
                                  tp_port_side side, int64_t index,
                                  int64_t size, const tp_tensor *locals,
                                  const tp_tensor *global);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming) */

#endif /* TP_RUNTIME_RUNTIME_H */
