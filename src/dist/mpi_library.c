#include "dist/mpi_library.h"

#include <dlfcn.h>

#include "base/dynlib.h"

#define CALL(NAME)                                                                       \
    {                                                                                    \
        "MPI_" #NAME, offsetof(struct mpi_library, NAME)                                 \
    }
#define HANDLE(FIELD, NAME)                                                              \
    {                                                                                    \
        "ompi_mpi_" NAME, offsetof(struct mpi_library, FIELD)                            \
    }

static const struct dynlib_symbol symbols[] = {
    CALL(Init_thread),
    CALL(Comm_rank),
    CALL(Comm_size),
    CALL(Allreduce),
    CALL(Allgather),
    CALL(Alltoallv),
    CALL(Iallreduce),
    CALL(Ireduce),
    CALL(Isend),
    CALL(Iprobe),
    CALL(Recv),
    CALL(Request_free),
    CALL(Testall),
    CALL(Waitall),
    CALL(Bcast),
    CALL(Op_create),
    CALL(Comm_split),
    CALL(Comm_split_type),
    CALL(Comm_free),
    CALL(Barrier),
    CALL(Abort),
    CALL(Finalize),
    HANDLE(no_info, "info_null"),
    HANDLE(world, "comm_world"),
    HANDLE(type_float, "float"),
    HANDLE(type_double, "double"),
    HANDLE(type_int64, "int64_t"),
    HANDLE(type_uint16, "uint16_t"),
    HANDLE(type_byte, "byte"),
    HANDLE(sum, "op_sum"),
    HANDLE(max, "op_max"),
    {0},
};

static const char *const names[] = {"libmpi.so.40", NULL};
static struct dynlib row = {.names = names, .package = "libopenmpi3", .symbols = symbols};

const struct mpi_library *mpi_library(struct strbuf *why)
{
    static struct mpi_library lib;

    /* Open MPI's plugins search for its symbols in the global scope. */
    (void)dlopen(names[0], RTLD_LAZY | RTLD_GLOBAL);
    return dynlib_open(&row, &lib, why) < 0 ? NULL : &lib;
}
