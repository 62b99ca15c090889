/*
 * The functions of Open MPI 4 and 5 that we use, opened at run time. Its handles are
 * addresses of its variables, as in its mpi.h (MPI_COMM_WORLD is &ompi_mpi_comm_world),
 * so this is its binary interface. Semantics: MPI 3.1.
 */
#ifndef DIST_MPI_LIBRARY_H
#define DIST_MPI_LIBRARY_H

#include "base/strbuf.h"

struct mpi_library {
    int (*Init_thread)(int *argc, char ***argv, int required, int *provided);
    int (*Comm_rank)(void *comm, int *rank);
    int (*Comm_size)(void *comm, int *size);
    int (*Allreduce)(const void *src, void *dst, int n, void *type, void *op, void *comm);
    int (*Allgather)(const void *src, int nfrom, void *from_type, void *dst, int nto,
                     void *to_type, void *comm);
    int (*Alltoallv)(const void *src, const int *from_counts, const int *from_places,
                     void *from_type, void *dst, const int *to_counts,
                     const int *to_places, void *to_type, void *comm);
    int (*Iallreduce)(const void *src, void *dst, int n, void *type, void *op, void *comm,
                      void **request);
    int (*Ireduce)(const void *src, void *dst, int n, void *type, void *op, int root,
                   void *comm, void **request);
    int (*Isend)(const void *src, int n, void *type, int dst, int tag, void *comm,
                 void **request);
    int (*Iprobe)(int src, int tag, void *comm, int *there, void *status);
    int (*Recv)(void *dst, int n, void *type, int src, int tag, void *comm, void *status);
    int (*Request_free)(void **request);
    int (*Testall)(int n, void **request, int *done, void *statuses);
    int (*Waitall)(int n, void **request, void *statuses);
    int (*Bcast)(void *x, int n, void *type, int root, void *comm);
    int (*Op_create)(void (*fn)(void *in, void *inout, int *n, void **type), int commute,
                     void **op);
    int (*Comm_split)(void *comm, int color, int key, void **dst);
    int (*Comm_split_type)(void *comm, int type, int key, void *info, void **dst);
    int (*Comm_free)(void **comm);
    int (*Barrier)(void *comm);
    int (*Abort)(void *comm, int code);
    int (*Finalize)(void);
    void *no_info;                               /* MPI_INFO_NULL */
    void *world;                                 /* MPI_COMM_WORLD */
    void *type_float, *type_double, *type_int64; /* MPI_FLOAT, ... */
    void *type_uint16, *type_byte;
    void *sum, *max; /* MPI_SUM, MPI_MAX */
};

enum { MPI_THREAD_MULTIPLE_ = 3, MPI_COMM_TYPE_SHARED_ = 0 };
#define MPI_IN_PLACE_        ((void *)1)
#define MPI_STATUSES_IGNORE_ ((void *)0)

/* Opens the library in the first call. Returns NULL with the reason in `why` if it cannot
 * be opened. */
const struct mpi_library *mpi_library(struct strbuf *why);

#endif
