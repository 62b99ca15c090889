#include "dist/launch.h"

#include <stddef.h>
#include <stdlib.h>

/* Returns the variable's number, also from "4(x2)" or "4,3"; `otherwise` if it has none. */
static int number(const char *key, int otherwise)
{
    const char *text = key ? getenv(key) : NULL;
    char *end;
    long n;

    if (!text || !*text)
        return otherwise;
    n = strtol(text, &end, 10);
    return (*end && *end != '(' && *end != ',') || n < 0 || n > 1 << 20 ? otherwise
                                                                        : (int)n;
}

struct dist_launch dist_launched(void)
{
    static const struct {
        const char *program, *size, *rank, *local, *local_size;
        bool mpi;
    } launcher[] = {
        {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
         "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", true},
        {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID",
         "SLURM_STEP_TASKS_PER_NODE", true},
        {"mpiexec", "PMI_SIZE", "PMI_RANK", NULL, NULL, true},
        {"torchrun", "WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", false},
    };

    for (size_t i = 0; i < sizeof(launcher) / sizeof(*launcher); i++) {
        int world = number(launcher[i].size, 1);
        int local = number(launcher[i].local_size, world);

        if (world > 1)
            return (struct dist_launch){
                .program = launcher[i].program,
                .size_key = launcher[i].size,
                .world = world,
                .rank = number(launcher[i].rank, 0),
                .local_rank = number(launcher[i].local, 0),
                .local_world = local > 0 && local < world ? local : world,
                .one_machine = number(launcher[i].local_size, 0) == world,
                .mpi = launcher[i].mpi,
            };
    }
    return (struct dist_launch){.world = 1, .local_world = 1};
}

void dist_stay_here(void)
{
    static const char *const variable[][2] = {
        {"OMPI_MCA_pml", "ob1"}, /* ucx would open ports, too */
        {"OMPI_MCA_btl", "self,vader"},
        {"OMPI_MCA_oob_tcp_if_include", "lo"},
        {"NCCL_SOCKET_IFNAME", "lo"},
    };

    for (size_t i = 0; i < sizeof(variable) / sizeof(*variable); i++)
        (void)setenv(variable[i][0], variable[i][1], 0);
}
