/* Detects the launcher from the environment. */
#include <stdlib.h>
#include <string.h>

#include "dist/group.h"
#include "dist/launch.h"
#include "tests/test.h"

static const char *const keys[] = {
    "WORLD_SIZE",
    "RANK",
    "LOCAL_RANK",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "PMI_SIZE",
    "PMI_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "LOCAL_WORLD_SIZE",
    "SLURM_STEP_TASKS_PER_NODE",
};

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        unsetenv(keys[i]);
    return 0;
}

/* Environment variables, and the expected result. */
struct launched {
    const char *set[4][2], *launcher;
    int world, rank, local_rank, local_world;
    bool mpi;
};

static const struct launched rows[] = {
    {.set = {{"WORLD_SIZE", "4"},
             {"RANK", "3"},
             {"LOCAL_RANK", "1"},
             {"LOCAL_WORLD_SIZE", "2"}},
     .launcher = "torchrun",
     .world = 4,
     .rank = 3,
     .local_rank = 1,
     .local_world = 2},
    {.set = {{"OMPI_COMM_WORLD_SIZE", "2"},
             {"OMPI_COMM_WORLD_RANK", "1"},
             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}},
     .launcher = "mpirun",
     .world = 2,
     .rank = 1,
     .local_rank = 1,
     .local_world = 2,
     .mpi = true},
    {.set = {{"SLURM_STEP_NUM_TASKS", "8"},
             {"SLURM_PROCID", "5"},
             {"SLURM_LOCALID", "2"},
             {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}},
     .launcher = "srun",
     .world = 8,
     .rank = 5,
     .local_rank = 2,
     .local_world = 4,
     .mpi = true},
    {.set = {{"PMI_SIZE", "3"}, {"PMI_RANK", "2"}, {"RANK", "1"}},
     .launcher = "mpiexec",
     .world = 3,
     .rank = 2,
     .local_world = 3,
     .mpi = true},
    {.set = {{"WORLD_SIZE", "1"}, {"RANK", "0"}, {"PMI_SIZE", "1"}},
     .world = 1,
     .local_world = 1},
    {.set = {{"WORLD_SIZE", "many"}, {"RANK", "2"}, {"PMI_SIZE", ""}},
     .world = 1,
     .local_world = 1},
};

static void check_launched(const struct launched *row)
{
    struct dist_launch l;

    for (int k = 0; k < 4 && row->set[k][0]; k++)
        setenv(row->set[k][0], row->set[k][1], 1);
    l = dist_launched();
    assert_int_equal(l.world, row->world);
    assert_int_equal(l.rank, row->rank);
    assert_int_equal(l.local_rank, row->local_rank);
    assert_int_equal(l.local_world, row->local_world);
    assert_int_equal(l.mpi, row->mpi);
    assert_true(row->launcher ? l.program && !strcmp(l.program, row->launcher)
                              : !l.program);
}

static void test_launchers(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        clear(state);
        check_launched(&rows[i]);
    }
}

/* A group of one opens nothing, and sums are unchanged. */
static void test_alone(void **state)
{
    int64_t n = 7;
    double x = 0.5;

    (void)state;
    dist_open(1);
    dist_sum_counts(&n, 1);
    dist_sum_doubles(&x, 1);
    dist_barrier();
    dist_agree("number", 3);
    assert_int_equal(n, 7);
    assert_true(x == 0.5);
    assert_int_equal(dist_max(-2), -2);
    assert_int_equal(dist_world(), 1);
    assert_true(dist_is_first() && !dist_collective());
    dist_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_launchers, clear, clear),
        cmocka_unit_test_setup(test_alone, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
