/*
 * Detects the launcher of this process, its rank, and the number of processes. Only reads
 * the environment.
 *
 *   mpirun      OMPI_COMM_WORLD_SIZE, _RANK, _LOCAL_RANK, _LOCAL_SIZE (Open MPI)
 *   srun        SLURM_STEP_NUM_TASKS, SLURM_PROCID, SLURM_LOCALID,
 *              SLURM_STEP_TASKS_PER_NODE ("4(x2)")
 *   mpiexec     PMI_SIZE, PMI_RANK
 *   torchrun    WORLD_SIZE, RANK, LOCAL_RANK, LOCAL_WORLD_SIZE
 */
#ifndef DIST_LAUNCH_H
#define DIST_LAUNCH_H

#include <stdbool.h>

struct dist_launch {
    const char *program;         /* "mpirun"; NULL: no launcher */
    const char *size_key;        /* variable with the number of processes */
    int world, rank, local_rank; /* 1, 0, 0 without a launcher */
    int local_world;             /* processes on this machine; all if unknown */
    bool one_machine;            /* the launcher says that all processes are on this
                                  * machine */
    bool mpi;                    /* the processes connect by MPI */
};

struct dist_launch dist_launched(void);

/*
 * For processes on one machine: sets the variables that restrict Open MPI and NCCL to
 * shared memory and the loopback interface, so that their ports, which have no password,
 * cannot be reached from outside. Variables set by the user stay. Call before MPI or NCCL
 * starts.
 */
void dist_stay_here(void);

#endif
