/*
 * Random numbers of a batch do not depend on the number of processes that share it: the
 * results for an image have the same bits in each share and in the whole batch.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/philox.h"
#include "graph/collective.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "graph/program.h"
#include "ops/control.h"
#include "ops/dropout.h"
#include "ops/mix.h"
#include "ops/share.h"
#include "ops/state.h"
#include "ops/table.h"
#include "ops/window_attention.h"
#include "session/devices.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

enum { IMAGES = 12, MOST = IMAGES * 6 * 6 * 48 };

struct kind {
    const char *name;
    struct tensor *(*make)(struct builder *b, struct tensor *x);
    int64_t dim[4]; /* of the whole batch: NCHW, or [B, H, W, C] if plain */
    enum layout layout;
    bool pairs; /* image i is mixed with image n - 1 - i: one process holds both */
};

static struct tensor *dropped(struct builder *b, struct tensor *x)
{
    return dropout(b, x, "drop", .rate = 0.4f);
}

static struct tensor *dropped2d(struct builder *b, struct tensor *x)
{
    return dropout2d(b, x, "drop2d", .rate = 0.4f);
}

static struct tensor *path(struct builder *b, struct tensor *x)
{
    return drop_path(b, x, "path", .rate = 0.4f);
}

static struct tensor *attention(struct builder *b, struct tensor *x)
{
    return window_attention(b, x, "attention", .heads = 2, .window_h = 2, .window_w = 3,
                            .shift_w = 1, .dropout = 0.4f);
}

static struct tensor *mixed(struct builder *b, struct tensor *x, int mode)
{
    struct tensor *lam;

    return mix(b, x, control_tensor(b), &lam, "mix", .mixup = 0.8f, .cutmix = 1,
               .prob = 0.9f, .switch_prob = 0.5f, .mode = mode);
}

static struct tensor *mixed_batch(struct builder *b, struct tensor *x)
{
    return mixed(b, x, MIX_BATCH);
}

static struct tensor *mixed_pair(struct builder *b, struct tensor *x)
{
    return mixed(b, x, MIX_PAIR);
}

static struct tensor *mixed_elem(struct builder *b, struct tensor *x)
{
    return mixed(b, x, MIX_ELEM);
}

static const struct kind kinds[] = {
    {"dropout", dropped, {IMAGES, 16, 6, 4}, LAYOUT_IMAGE, false},
    {"dropout, odd", dropped, {IMAGES, 5, 3, 3}, LAYOUT_IMAGE, false},
    {"dropout2d", dropped2d, {IMAGES, 8, 3, 2}, LAYOUT_IMAGE, false},
    {"dropout2d, odd", dropped2d, {IMAGES, 5, 3, 2}, LAYOUT_IMAGE, false},
    {"drop_path", path, {IMAGES, 3, 2, 2}, LAYOUT_IMAGE, false},
    {"attention", attention, {IMAGES, 5, 6, 48}, LAYOUT_PLAIN, false},
    {"mix batch", mixed_batch, {IMAGES, 3, 6, 5}, LAYOUT_IMAGE, true},
    {"mix pair", mixed_pair, {IMAGES, 3, 6, 5}, LAYOUT_IMAGE, true},
    {"mix elem", mixed_elem, {IMAGES, 3, 6, 5}, LAYOUT_IMAGE, true},
};

/* Fills x with the images of this share, which have the same values as in the whole
 * batch; then runs. */
static void run(struct program *p, const struct tensor *x, const struct tensor *y,
                enum dtype t, struct share s, float *out)
{
    int64_t n = tensor_len(x), len = n / x->dim[0];
    struct control c = {.micro = 3, .seed = 11};
    float *v = xcalloc((size_t)n, sizeof(*v));
    uint16_t *half = xcalloc((size_t)n, sizeof(*half));

    for (int64_t i = 0; i < n; i++) {
        int64_t pos = share_image(s, i / len) * len + i % len;

        v[i] = bf16_to_float(bf16_from_float(
            philox_uniform(philox(5, PHILOX_TEST, 0, (uint64_t)pos).v[0]) + 0.5f));
    }
    p->backend->copy_in(p->device, program_data(p, x), v, tensor_size(x));
    p->backend->copy_in(p->device, p->base[MEMORY_CONTROL], &c, sizeof(c));
    program_run(p);
    if (t == DTYPE_F32) {
        p->backend->copy_out(p->device, out, program_data(p, y), tensor_size(y));
    } else {
        p->backend->copy_out(p->device, half, program_data(p, y), tensor_size(y));
        for (int64_t i = 0; i < tensor_len(y); i++)
            out[i] = bf16_to_float(half[i]);
    }
    free(half);
    free(v);
}

/* Stores the results of one process in `out`. Returns the elements per image. */
static int64_t share(const struct kind *k, const struct backend *backend,
                     struct device *dev, enum dtype t, const struct collective *group,
                     float *out)
{
    struct graph *g = graph_new(&graph_ops_default, true);
    struct builder b = {.g = g};
    int64_t dim[] = {k->dim[0] / group->world, k->dim[1], k->dim[2], k->dim[3]}, len;
    void *base[MEMORY_COUNT] = {NULL};
    struct tensor *x, *y;
    struct program *p;
    struct share s;

    graph_share_batch(g, group, k->pairs ? (int)dim[0] / 2 : 0);
    s = share_of(g);
    x = graph_input(&b, "x", DTYPE_F32, k->layout, 4, dim);
    y = k->make(&b, x);
    graph_flatten(g);
    if (t != DTYPE_F32)
        precision(g, AMP_O2, t);
    graph_output(g, y);
    t = y->dtype;
    p = program_compile(g, backend, dev, NULL);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (program_need(p, (enum memory)m))
            base[m] = backend->alloc(dev, program_need(p, (enum memory)m));
    program_bind(p, base);
    run(p, x, y, t, s, out);
    len = tensor_len(y) / dim[0];
    program_free(p);
    graph_free(g);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (base[m])
            backend->free(dev, base[m]);
    return len;
}

/* Each image is in one of `world` processes, and its results equal those of a single
 * process. */
static void compare(const struct kind *k, const struct backend *backend,
                    struct device *dev, enum dtype t, int world)
{
    struct collective alone = {.world = 1}, group = {.world = world};
    float *whole = xcalloc(MOST, sizeof(*whole)), *part = xcalloc(MOST, sizeof(*part));
    int64_t len = share(k, backend, dev, t, &alone, whole);
    int images = IMAGES / world;
    bool seen[IMAGES] = {false};

    for (group.rank = 0; group.rank < world; group.rank++) {
        struct share s = {group.rank, world, k->pairs ? images / 2 : 0};

        (void)share(k, backend, dev, t, &group, part);
        for (int i = 0; i < images; i++) {
            int64_t image = share_image(s, i);

            assert_in_range(image, 0, IMAGES - 1);
            assert_false(seen[image]);
            seen[image] = true;
            if (memcmp(part + i * len, whole + image * len, (size_t)len * sizeof(float)))
                fail_msg("%s %s: image %d of rank %d of %d is not number %d of all",
                         backend->name, k->name, i, group.rank, world, (int)image);
        }
    }
    free(whole);
    free(part);
}

static void test_shares(void **state)
{
    static const int worlds[] = {2, 3, 6};
    int backends = 0;

    (void)state;
    for (int i = 0; device_at(i); i++) {
        const struct backend *backend = device_at(i);
        struct device *dev;

        if (!backend_wanted(backend))
            continue;
        dev = backend->open(&(const struct device_options){.threads = 2});
        backends++;
        for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
            for (int w = 0; w < 3; w++) {
                compare(&kinds[k], backend, dev, DTYPE_F32, worlds[w]);
                if (backend->has_dtype(dev, DTYPE_BF16))
                    compare(&kinds[k], backend, dev, DTYPE_BF16, worlds[w]);
            }
        backend->close(dev);
    }
    assert_true(backends > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
