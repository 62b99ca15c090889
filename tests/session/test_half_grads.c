/*
 * Weight gradients in 16 bits until the optimizer reads them (ops/half_grads.h): which
 * ones, that the optimizer reads each at its place, that they are the fp32 gradients
 * rounded, and that an overflow of one of them skips the update. Runs on test_device();
 * only CUDA has such gradients, so elsewhere all of them are fp32 and equal.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/collective.h"
#include "graph/flat.h"
#include "ops/half_grads.h"
#include "ops/reference.h"
#include "session/build.h"
#include "session/state.h"
#include "tests/config_init.h"
#include "tests/ops/backends.h"
#include "tests/session/train_run.h"
#include "tests/test.h"

#define RESNET "MODEL.TYPE", "resnet", "MODEL.NAME", "resnet20", "DATA.IMG_SIZE", "8"
#define VIT                                                                              \
    "MODEL.TYPE", "vit", "MODEL.NAME", "vit_tiny_patch16_224", "DATA.IMG_SIZE", "32"
#define COMMON                                                                           \
    "AMP_ENABLE", "True", "TRAIN.CLIP_GRAD", "0", "TRAIN.WEIGHT_DECAY", "0",             \
        "TRAIN.OPTIMIZER.MOMENTUM", "0.9"

enum { MORE = 32, BATCHES = 2 };

static bool on_cuda(void)
{
    return !strncmp(test_device(), "cuda", 4);
}

static void start(struct run *r, const char *const *net, const char *dtype,
                  const char *scale, const char *batches)
{
    const char *more[MORE] = {COMMON,           "AMP.DTYPE", dtype,
                              "AMP.INIT_SCALE", scale,       "TRAIN.ACCUMULATION_STEPS",
                              batches};
    int n = 14;

    assert_null(more[n]);
    for (; *net; net++)
        more[n++] = *net;
    run_init(r, more);
}

static void one_batch(struct run *r)
{
    int side = (int)r->s.plan.width, n = BATCH * side * side * 3;
    uint8_t *pixels = xmalloc((size_t)n);
    int32_t labels[BATCH];

    for (int i = 0; i < n; i++)
        pixels[i] = (uint8_t)((i * 7 + i / 96 * 13 + (int)r->s.micro * 31) % 256);
    for (int i = 0; i < BATCH; i++)
        labels[i] = (3 * i + (int)r->s.micro) % CLASSES;
    (void)session_step(&r->s, pixels, labels);
    free(pixels);
}

/* Returns the gradients of the last batch at the offsets of the weights, as fp32. */
static float *gradients(const struct run *r, enum session_program which)
{
    const struct graph *g = r->s.build[which].graph;
    size_t size = session_bytes(&r->s, MEMORY_GRADS);
    float *all = xcalloc((size_t)g->flat->trained_len, sizeof(*all));
    void *host = xmalloc(size);

    r->s.backend->copy_out(r->s.device, host, r->s.base[MEMORY_GRADS], size);
    if (half_grads_dtype(g) != DTYPE_F32)
        half_grads_widen(g, host, all);
    else
        memcpy(all, host, size);
    free(host);
    return all;
}

/* Compares the gradients of a parameter in 16 bits, or with `half` fp32, with the same
 * ones in fp32. */
static void compare(const struct segment *s, enum dtype half, const float *got,
                    const float *want)
{
    double unit = half == DTYPE_F16 ? 0x1p-11 : half == DTYPE_BF16 ? 0x1p-8 : 0;
    double tiny = half == DTYPE_F16 ? 0x1p-25 : 0; /* half the distance of subnormals */
    double max = 0;

    for (int64_t i = s->offset; i < s->offset + s->len; i++)
        max = fmax(max, fabs((double)want[i]));
    if (!(max > 0) && !strstr(s->tensor->name, "bias"))
        fail_msg("'%s': no gradients", s->tensor->name);
    /* Sums of a library in another order differ by some units of fp32. */
    for (int64_t i = s->offset; i < s->offset + s->len; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <=
              unit * fabs((double)want[i]) + tiny + 1e-6 * max))
            fail_msg("'%s' %s: gradient %g, in fp32 %g, of at most %g", s->tensor->name,
                     dtype_name(half), (double)got[i], (double)want[i], max);
}

/* True if a library computes this gradient: of weights, and of biases in the same GEMM. */
static bool narrow(const struct tensor *t)
{
    return t->ndim == 4 || (t->ndim == 2 && strstr(t->name, "weight")) ||
           !strcmp(t->name, "fc.bias") || !strcmp(t->name, "head.bias") ||
           strstr(t->name, "fc1.bias") || strstr(t->name, "fc2.bias") ||
           strstr(t->name, "qkv.bias") || strstr(t->name, "attn.proj.bias");
}

static void check_types(const struct run *r, enum dtype half)
{
    const struct graph *g = r->s.build[SESSION_TRAIN].graph;

    assert_int_equal(half_grads_dtype(g), on_cuda() ? half : DTYPE_F32);
    for (int i = 0; on_cuda() && i < g->flat->ntrained; i++) {
        const struct tensor *t = g->flat->segment[i].tensor;
        enum dtype want = narrow(t) ? half : DTYPE_F32;

        if (t->grad->dtype != want)
            fail_msg("gradient of '%s': %s", t->name, dtype_name(t->grad->dtype));
    }
}

/* The first momentum is the gradient that the optimizer has read. */
static void check_read(const struct run *r, const float *grad)
{
    const struct flat *f = session_flat(&r->s);
    struct control c = session_control(&r->s);
    float *moment = xcalloc((size_t)f->weights_len, sizeof(*moment));
    double squares = 0;

    session_get(&r->s, MEMORY_MOMENT1, moment);
    for (int64_t i = 0; i < f->trained_len; i++) {
        squares += (double)grad[i] * (double)grad[i];
        if (moment[i] != grad[i] * (float)c.grad_multiplier)
            fail_msg("element %lld: gradient %g, read as %g", (long long)i,
                     (double)(grad[i] * (float)c.grad_multiplier), (double)moment[i]);
    }
    assert_true(fabs(c.grad_norm / (sqrt(squares) * c.grad_multiplier) - 1) < 1e-9);
    free(moment);
}

static void check_net(const char *const *net, const char *dtype)
{
    enum dtype half = !strcmp(dtype, "fp16") ? DTYPE_F16 : DTYPE_BF16;
    const struct flat *f;
    struct run a, b;
    float *got, *want;

    start(&a, net, dtype, "1024", "1");
    start(&b, net, dtype, "2048", "2"); /* divides by two batches */
    f = session_flat(&a.s);
    check_types(&a, half);
    assert_int_equal(half_grads_dtype(b.s.build[SESSION_TRAIN].graph), DTYPE_F32);
    assert_int_equal(half_grads_dtype(b.s.build[SESSION_MICRO].graph), DTYPE_F32);
    one_batch(&a);
    one_batch(&b);
    assert_int_equal(session_control(&a.s).updates, 1);
    got = gradients(&a, SESSION_TRAIN);
    want = gradients(&b, SESSION_MICRO);
    for (int64_t i = 0; i < f->trained_len && half == DTYPE_BF16; i++)
        want[i] *= BATCHES; /* without a loss scale */
    check_read(&a, got);
    for (int i = 0; i < f->ntrained; i++)
        compare(&f->segment[i],
                on_cuda() && narrow(f->segment[i].tensor) ? half : DTYPE_F32, got, want);
    if (on_cuda())
        assert_true(session_bytes(&a.s, MEMORY_GRADS) <
                    session_bytes(&b.s, MEMORY_GRADS) * 6 / 10);
    free(got);
    free(want);
    run_release(&a);
    run_release(&b);
}

static void test_resnet(void **state)
{
    (void)state;
    check_net((const char *[]){RESNET, NULL}, "fp16");
    check_net((const char *[]){RESNET, NULL}, "bf16");
}

static void test_vit(void **state)
{
    (void)state;
    check_net((const char *[]){VIT, NULL}, "fp16");
    check_net((const char *[]){VIT, NULL}, "bf16");
}

/* At this loss scale, the gradients of the classifier's weights exceed 65504, and those of
 * activations do not. */
static void test_overflow(void **state)
{
    static const char *const net[] = {VIT, NULL};
    struct run a, b;
    struct control c;
    float *before, *want;

    (void)state;
    start(&a, net, "fp16", "131072", "1");
    start(&b, net, "fp16", "262144", "2");
    before = xmemdup(run_weights(&a), run_bytes(&a));
    one_batch(&a);
    one_batch(&b);
    want = gradients(&b, SESSION_MICRO);
    for (int64_t i = 0; i < session_flat(&b.s)->trained_len; i++)
        assert_true(isfinite(want[i]));
    c = session_control(&a.s);
    assert_int_equal(c.overflow, on_cuda());
    assert_int_equal(c.skipped, on_cuda());
    assert_int_equal(c.updates, !on_cuda());
    if (on_cuda())
        assert_memory_equal(run_weights(&a), before, run_bytes(&a));
    for (int i = 0; i < 8 && session_control(&a.s).updates < 2; i++)
        one_batch(&a);
    assert_int_equal(session_control(&a.s).updates, 2);
    (void)run_weights(&a);
    for (int64_t i = 0; i < session_flat(&a.s)->weights_len; i++)
        assert_true(isfinite(a.weights[i]));
    free(before);
    free(want);
    run_release(&a);
    run_release(&b);
}

/* ---- without running ---- */

static bool always(const struct graph *g, const struct node *n)
{
    (void)g;
    return n->op->f32_out & 1;
}

/* Builds resnet20 as one of `world` processes; returns the type of its gradients. */
static enum dtype lowered(int world, const char *const *more, size_t *bytes)
{
    struct collective group = {.world = world};
    struct config cfg;
    struct plan plan;
    struct build build;
    enum dtype type;

    config_init(&cfg);
    for (const char *const *kv = (const char *[]){RESNET, COMMON, "AMP.DTYPE", "bf16",
                                                  "DATA.BATCH_SIZE", "4", NULL};
         *kv; kv += 2)
        config_set(&cfg, kv[0], kv[1]);
    for (; *more; more += 2)
        config_set(&cfg, more[0], more[1]);
    plan_init(&plan, &cfg, 64, NULL, &backend_ref, NULL);
    plan.group = world > 1 ? &group : NULL;
    plan.world = world;
    build_init(&build, &plan, BUILD_TRAIN, false);
    half_grads_lower(build.graph, always);
    type = half_grads_dtype(build.graph);
    *bytes = 0;
    for (int i = 0; i < build.graph->ntensor; i++) {
        const struct tensor *t = build.graph->tensor[i];

        if (t->memory != MEMORY_GRADS || !t->producer)
            continue;
        if (type != DTYPE_F32)
            assert_true(t->offset == *bytes || t->offset % 64 == 0);
        *bytes += (tensor_size(t) + 63) / 64 * 64;
    }
    build_release(&build);
    plan_release(&plan);
    config_release(&cfg);
    return type;
}

/* Sums over processes, batches, or losses need fp32. */
static void test_sums(void **state)
{
    size_t half, full;

    (void)state;
    assert_int_equal(lowered(1, (const char *[]){NULL}, &half), DTYPE_BF16);
    assert_int_equal(lowered(1, (const char *[]){"TRAIN.CLIP_GRAD", "5", NULL}, &half),
                     DTYPE_BF16);
    assert_int_equal(lowered(2, (const char *[]){NULL}, &full), DTYPE_F32);
    assert_true(half < full * 6 / 10);
    assert_int_equal(
        lowered(1, (const char *[]){"TRAIN.ACCUMULATION_STEPS", "2", NULL}, &full),
        DTYPE_F32);
    assert_int_equal(lowered(1, (const char *[]){"AMP_OPT_LEVEL", "O0", NULL}, &full),
                     DTYPE_F32);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_resnet),
        cmocka_unit_test(test_vit),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_sums),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
