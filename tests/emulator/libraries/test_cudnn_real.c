/*
 * The emulated cuDNN against NVIDIA's: the answers to the same calls must agree. Needs
 * the library but no GPU; if it is not installed, only the emulation is tested.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/libraries/cudnn_cases.h"
#include "tests/test.h"

static struct api emulated, real;
static bool have_real;

static const char h200[] =
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
    "\"regsPerBlock\":65536,\"multiProcessorCount\":132,\"warpSize\":32,"
    "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,"
    "\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
    "\"totalGlobalMem\":150109880320,\"smClockRateKHz\":1980000,"
    "\"memClockRateKHz\":3201000,\"l2CacheSize\":62914560,\"cudaDeviceId\":0,"
    "\"deviceVer\":900,\"driverVer\":13000,\"deviceName\":\"NVIDIA H200\"}";

/* Run-time compiled engines are only offered with a driver; the toolkit's stub is
 * sufficient. The address sanitizer would report leaks in libraries that we cannot
 * fix. */
static bool open_real(void)
{
#ifdef __SANITIZE_ADDRESS__
    return false;
#endif
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
        (void)dlopen(CUDA_HOME "/lib64/stubs/libcuda.so", RTLD_NOW | RTLD_GLOBAL);
    return !api_open(&real, CUDA_HOME "/lib64/libcudnn.so.9");
}

static int open_libraries(void **state)
{
    const char *error = api_open(&emulated, EMULATED "/libcudnn.so.9");

    (void)state;
    if (error)
        fail_msg("%s", error);
    api_describe(&emulated, h200);
    have_real = open_real();
    if (have_real)
        api_describe(&real, h200);
    if (!have_real)
        print_message("no cuDNN in " CUDA_HOME "/lib64: only the emulation is asked\n");
    return emulated.status || real.status;
}

static int close_libraries(void **state)
{
    (void)state;
    api_close(&emulated);
    if (have_real)
        api_close(&real);
    return 0;
}

static cudnnStatus_t run_case(struct api *a, const struct cudnn_case *c)
{
    cudnnStatus_t s;

    c->run(a);
    s = a->status;
    api_reset(a);
    return s;
}

enum { CRASHED = 9999 };

static void ask_from(struct api *a, const struct cudnn_case *cases, int first, int fd)
{
    (void)signal(SIGILL, SIG_DFL);
    (void)signal(SIGSEGV, SIG_DFL);
    (void)signal(SIGABRT, SIG_DFL);
    (void)fclose(stderr);
    for (int i = first; cases[i].run; i++) {
        int s = (int)run_case(a, &cases[i]);

        if (write(fd, &s, sizeof(s)) != (ssize_t)sizeof(s))
            break;
    }
    _exit(0);
}

/* Runs in another process; starts a new one after a case that crashes the library. */
static void ask_apart(struct api *a, const struct cudnn_case *cases, int *status)
{
    for (int i = 0; cases[i].run;) {
        int pipes[2];
        pid_t child = pipe(pipes) ? -1 : fork();

        if (child < 0)
            fail_msg("cannot fork");
        if (!child)
            ask_from(a, cases, i, pipes[1]);
        (void)close(pipes[1]);
        while (cases[i].run && read(pipes[0], &status[i], sizeof(int)) == sizeof(int))
            i++;
        if (cases[i].run)
            status[i++] = CRASHED;
        (void)close(pipes[0]);
        (void)waitpid(child, NULL, 0);
    }
}

static int count_wrong(const struct cudnn_case *cases)
{
    int status[128] = {0}, wrong = 0;

    if (have_real)
        ask_apart(&real, cases, status);
    for (int i = 0; cases[i].run; i++) {
        const struct cudnn_case *c = &cases[i];
        int e = (int)run_case(&emulated, c), r = status[i];
        bool crashed = r == CRASHED;
        bool same = c->answer == ANSWER_STRICTER || e == r || crashed || !have_real;
        bool good = same && !e == (c->answer == ANSWER_YES) &&
                    (crashed || !have_real || !r == (c->answer != ANSWER_NO));

        if (!good)
            print_error("%s: the emulation says %d, the library %d\n", c->name, e, r);
        wrong += !good;
    }
    return wrong;
}

static void test_cases(void **state)
{
    (void)state;
    assert_int_equal(count_wrong(cudnn_cases_descriptors), 0);
    assert_int_equal(count_wrong(cudnn_cases_graphs), 0);
}

/* The library accepts every attribute, type, and count that the emulation accepts. */
static void try_attribute(cudnnBackendDescriptorType_t d, int name, int type, int count,
                          int *taken)
{
    static const unsigned char zeros[256];
    void *tensors[4];
    const void *values = zeros;
    cudnnStatus_t s;

    for (int i = 0; i < 4 && type == CUDNN_TYPE_BACKEND_DESCRIPTOR; i++) {
        tensors[i] = api_nhwc(&emulated, 1, CUDNN_DATA_FLOAT, 1, 8, 2, 2);
        values = tensors;
    }
    s = emulated.set(api_new(&emulated, d), (cudnnBackendAttributeName_t)name,
                     (cudnnBackendAttributeType_t)type, count, values);
    api_reset(&emulated);
    if (s)
        return;
    ++*taken;
    if (!have_real || type == CUDNN_TYPE_HANDLE)
        return;
    for (int i = 0; i < 4 && type == CUDNN_TYPE_BACKEND_DESCRIPTOR; i++)
        tensors[i] = api_nhwc(&real, 1, CUDNN_DATA_FLOAT, 1, 8, 2, 2);
    s = real.set(api_new(&real, d), (cudnnBackendAttributeName_t)name,
                 (cudnnBackendAttributeType_t)type, count, values);
    api_reset(&real);
    if (s)
        fail_msg("descriptor %d takes attribute %d of type %d, %d of them; the library "
                 "says %d",
                 (int)d, name, type, count, (int)s);
}

static void test_attributes(void **state)
{
    int taken = 0;

    (void)state;
    for (int d = 0; d <= CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR; d++) {
        void *made = NULL;

        if (emulated.create((cudnnBackendDescriptorType_t)d, &made))
            continue;
        (void)emulated.destroy(made);
        for (int name = 0; name < 2800; name++)
            for (int type = 0; type <= CUDNN_TYPE_NORM_FWD_PHASE; type++)
                for (int count = 1; count <= 3; count++)
                    try_attribute((cudnnBackendDescriptorType_t)d, name, type, count,
                                  &taken);
    }
    assert_true(taken > 150);
}

static int offers(struct api *a, const struct cudnn_graph_case *c, cudnnDataType_t type)
{
    void *ops[32], *configs[40], *graph = api_graph(a, c->make(a, type, ops), ops);
    int n = api_configs(a, graph, CUDNN_HEUR_MODE_A, 40, configs);

    n += api_configs(a, graph, CUDNN_HEUR_MODE_FALLBACK, 40, configs);
    if (a->status)
        n = -1;
    api_reset(a);
    return n;
}

static void check_graphs(const struct cudnn_graph_case *cases, int n, bool floats)
{
    static const cudnnDataType_t types[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF,
                                            CUDNN_DATA_BFLOAT16};

    for (int i = 0; i < n; i++)
        for (int t = floats ? 0 : 1; t < 3; t++) {
            const struct cudnn_graph_case *c = &cases[i];
            int e = offers(&emulated, c, types[t]);
            int r = have_real ? offers(&real, c, types[t]) : e;

            if (e < 0 || !e == c->offered || !e != !r)
                fail_msg("%s, type %d: %d engines, the library has %d", c->name,
                         (int)types[t], e, r);
        }
}

static void test_graphs(void **state)
{
    (void)state;
    check_graphs(cudnn_graph_cases, cudnn_ngraph_case, true);
}

static void test_attention(void **state)
{
    (void)state;
    check_graphs(cudnn_attention_cases, cudnn_nattention_case, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_attention),
    };

    return cmocka_run_group_tests(tests, open_libraries, close_libraries);
}
