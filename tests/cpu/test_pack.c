/* Our own packing of weights against oneDNN's reorders, byte for byte; and that depthwise
 * weights are packed once. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "cases/case_run.h"
#include "cpu/amx.h"
#include "cpu/backend.h"
#include "cpu/device.h"
#include "cpu/kernel_table.h"
#include "cpu/kernels.h"
#include "cpu/pack.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

struct shape {
    int64_t in, out;
    int kernel; /* 0: a linear layer */
    bool must;  /* our loop supports oneDNN 2's packing of it (with AMX only fp32) */
};

static const struct shape shapes[] = {
    {64, 64, 1, true},    {64, 256, 1, true},    {256, 64, 1, true},
    {256, 128, 3, true},  {512, 512, 3, true},   {512, 2048, 1, true},
    {3, 64, 7, false},    {48, 80, 3, false},    {17, 64, 3, false},
    {64, 17, 1, false},   {130, 200, 1, false},  {33, 31, 5, false},
    {512, 1000, 0, true}, {2048, 1000, 0, true}, {67, 45, 0, false},
    {16, 16, 3, false},
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]), BATCH = 4, PIXELS = 14 };

static struct onednn_prim *prim_new(struct onednn *o, const struct shape *s,
                                    enum dtype type, enum onednn_direction direction)
{
    if (!s->kernel)
        return onednn_linear_new(o, &(struct onednn_linear){.direction = direction,
                                                            .type = type,
                                                            .rows = 16,
                                                            .in = s->in,
                                                            .out = s->out});
    return onednn_conv_new(o, &(struct onednn_conv){
                                  .direction = direction,
                                  .type = type,
                                  .groups = 1,
                                  .batch = BATCH,
                                  .in = s->in,
                                  .height = PIXELS,
                                  .width = PIXELS,
                                  .out = s->out,
                                  .out_height = PIXELS,
                                  .out_width = PIXELS,
                                  .kernel = {s->kernel, s->kernel},
                                  .stride = {1, 1},
                                  .dilation = {1, 1},
                                  .pad = {s->kernel / 2, s->kernel / 2},
                                  .pad_end = {s->kernel / 2, s->kernel / 2},
                              });
}

/* Normal numbers with all bits in use; some are half way between two bf16 numbers. */
static float weight(uint32_t i)
{
    struct philox r = philox(3, PHILOX_TEST, 0, i);
    uint32_t bits = (r.v[0] & 0x80ffffff) + 0x3e000000;
    float f;

    if (i % 3 == 0)
        bits = (bits & 0xffff0000) | 0x8000;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* True if our loop packed it. */
static bool check(struct onednn *o, const struct loops *loops, const struct shape *s,
                  enum dtype type, enum onednn_direction direction)
{
    struct onednn_prim *prim = prim_new(o, s, type, direction);
    int64_t dim[4] = {s->out, s->in, s->kernel, s->kernel};
    int64_t n = s->out * s->in * (s->kernel ? s->kernel * s->kernel : 1);
    struct onednn_pack *library;
    struct pack p;
    size_t size;
    char *want, *got;
    float *w;
    bool taken = prim && pack_plan(&p, loops, prim, type, s->kernel ? 4 : 2, dim);

    if (!taken) {
        onednn_prim_free(prim);
        return false;
    }
    size = onednn_prim_weights_size(prim);
    want = xalloc_aligned(size);
    got = xalloc_aligned(size);
    w = xalloc_aligned((size_t)n * sizeof(*w));
    for (int64_t i = 0; i < n; i++)
        w[i] = weight((uint32_t)i);
    memset(want, 0, size);
    memset(got, 0x55, size);
    library = onednn_pack_new(o, prim, ONEDNN_PACK);
    onednn_pack_run(library, want, w);
    p.src = w;
    p.dst = got;
    for (int64_t i = p.out_padded; i > 0; i -= 16) /* any split will do */
        loops->pack(&p, i - 16, i);
    for (size_t i = 0; i < size; i++)
        if (got[i] != want[i])
            fail_msg("%lld x %lld x %d, %s, job %d, %s: byte %zu of %zu differs",
                     (long long)s->out, (long long)s->in, s->kernel, dtype_name(type),
                     (int)direction, loops->isa, i, size);
    onednn_pack_free(library);
    onednn_prim_free(prim);
    free(want);
    free(got);
    free(w);
    return true;
}

/* Returns how often our loop packed it. */
static int check_all(const struct loops *loops)
{
    static const enum onednn_direction directions[] = {ONEDNN_FORWARD,
                                                       ONEDNN_BACKWARD_DATA};
    static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16};
    struct onednn *o = onednn_open();
    /* oneDNN 3 has other packings for some shapes, which its own reorder then packs */
    bool version2 = onednn_version()[0] == '2';
    int taken = 0;

    for (int k = 0; k < SHAPES; k++)
        for (int j = 0; j < 2; j++)
            for (int t = 0; t < 2; t++) {
                bool native = onednn_has_native_dtype(types[t]) &&
                              check(o, loops, &shapes[k], types[t], directions[j]);

                if (version2 && shapes[k].must && !native && loops->conv.gemm_pairs &&
                    !(types[t] == DTYPE_BF16 && amx_usable()))
                    fail_msg("shape %d, %s, job %d: our loop does not know it", k,
                             dtype_name(types[t]), (int)directions[j]);
                taken += native;
            }
    onednn_close(o);
    return taken;
}

static void test_pack(void **state)
{
    const struct loops *best = loops_best();

    (void)state;
    if (!best->pack)
        skip();
    assert_true(check_all(best) > 0);
#ifdef __x86_64__
    if (best == &loops_avx512bf16)
        assert_true(check_all(&loops_avx512) > 0);
#endif
}

/* Forward and data gradient of depthwise convolutions share their packed weights. */
static void test_depthwise(void **state)
{
    struct device *dev = backend_cpu.open(&(const struct device_options){0});
    struct case_run run;
    int loops = 0, packed;

    (void)state;
    kernel_table_force(dev->table, "depthwise");
    case_run_init(&run, row_named("conv2d depthwise of many channels"), &backend_cpu, dev,
                  &(struct case_options){0});
    for (int i = 0; i < run.program->nregion; i++) {
        const char *name = cpu_kernel_candidate(run.program->region[i]->kernel);

        loops += name && !strcmp(name, "depthwise");
    }
    packed = run.program->nderived;
    case_run_release(&run);
    backend_cpu.close(dev);
    if (loops < 3)
        skip(); /* this processor lacks the instructions */
    assert_int_equal(packed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pack),
                                       cmocka_unit_test(test_depthwise)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
