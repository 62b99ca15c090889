/*
 * How this process was started: by which launcher, as which of how many. Reads the
 * environment only; nothing is opened.
 *
 *   mpirun      OMPI_COMM_WORLD_SIZE, _RANK, _LOCAL_RANK, _LOCAL_SIZE (Open MPI)
 *   srun        SLURM_STEP_NUM_TASKS, SLURM_PROCID, SLURM_LOCALID,
 *               SLURM_STEP_TASKS_PER_NODE ("4(x2)")
 *   mpiexec     PMI_SIZE, PMI_RANK
 *   torchrun    WORLD_SIZE, RANK, LOCAL_RANK, LOCAL_WORLD_SIZE
 */
#ifndef DIST_LAUNCH_H
#define DIST_LAUNCH_H

#include <stdbool.h>

struct dist_launch {
    const char *by;              /* "mpirun"; NULL: alone */
    const char *size_key;        /* the variable that says how many */
    int world, rank, local_rank; /* 1, 0, 0: alone */
    int local_world;             /* processes on this machine; all, if nothing says */
    bool one_machine;            /* the launcher says that all are on this one */
    bool mpi;                    /* the processes find each other by MPI */
};

struct dist_launch dist_launched(void);

/*
 * For processes of one machine: sets the variables by which Open MPI and NCCL talk by shared
 * memory and the loopback interface alone, so that nobody else reaches their ports, which
 * ask for no password. What the user has set stays. Before MPI or NCCL start.
 */
void dist_stay_here(void);

#endif
