/*
 * The engines that cuDNN would run on an H200, asked of the real library without a GPU:
 * every convolution of a network has an engine within the limits, and its plan is
 * reloaded from the folder of plans. Skipped, with a message, without cuDNN.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "cuda/backend.h"
#include "cuda/cudnn_region.h"
#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "models/table.h"
#include "ops/normalize.h"
#include "ops/table.h"
#include "session/quantized.h"
#include "tests/cuda/ask_cudnn.h"
#include "tests/test.h"

/* NVIDIA's library keeps memory of descriptors that it refused; we cannot free it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libcudnn\n";
}

struct net {
    struct graph *graph;
    struct builder b;
    struct tensor *logits;
};

static void forward_build(struct net *n, const char *model, int64_t batch, int size,
                          bool training)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = model_find("resnet", model, &why);
    struct model_options o = {.classes = m->classes};
    int64_t dim[] = {batch, 3, size, size};
    struct tensor *x;

    *n = (struct net){.graph = graph_new(&graph_ops_default, training)};
    n->b = (struct builder){.g = n->graph};
    x = graph_input(&n->b, "pixels", DTYPE_U8, LAYOUT_IMAGE, 4, dim);
    x = normalize(&n->b, x, "input", .std = {1, 1, 1});
    n->logits = model_build(&n->b, m, &o, x);
    strbuf_release(&why);
}

static void net_build(struct net *n, const char *model, int64_t batch, int size,
                      bool training, enum dtype half)
{
    forward_build(n, model, batch, size, training);
    graph_output(n->graph, n->logits);
    graph_flatten(n->graph);
    if (training)
        autodiff(&n->b, n->logits,
                 graph_input(&n->b, "dy", DTYPE_F32, LAYOUT_PLAIN, n->logits->ndim,
                             n->logits->dim));
    if (half != DTYPE_F32)
        precision(n->graph, AMP_O1, half);
}

static struct asked check_net(const char *model, int64_t batch, int size, bool training,
                              enum dtype d, bool tf32)
{
    struct device *dev = ask_open();
    struct net n;
    struct program *p;
    char what[80];
    struct asked a;

    dev->options.tf32 = tf32;
    net_build(&n, model, batch, size, training, d);
    p = ask_compile(n.graph, dev);
    (void)snprintf(what, sizeof(what), "%s, batch %d, %s%s", model, (int)batch,
                   tf32 ? "tf32" : dtype_name(d), training ? "" : ", inference");
    a = ask_convs(p, what);
    assert_true(a.convs > 0);
    /* no engine pads channels by copying the pixels, or any 16-bit tensor */
    assert_true(a.workspace <= (size_t)(d == DTYPE_F32 ? 256 : 64) << 20);
    program_free(p);
    graph_free(n.graph);
    backend_cuda.close(dev);
    return a;
}

/* In fp16 all convolutions but the stem's have precompiled engines that sum their results
 * for the batch norm; in bf16 they are compiled, which needs a driver. */
static void test_statistics(void **state)
{
    struct asked half, brain;

    (void)state;
    half = check_net("resnet50", 256, 224, true, DTYPE_F16, false);
    brain = check_net("resnet50", 256, 224, true, DTYPE_BF16, false);
    assert_true(half.summed >= 52);
    assert_int_equal(brain.summed, ask_driver() ? 53 : 0);
    assert_int_equal(check_net("resnet50", 256, 224, false, DTYPE_F16, false).summed, 0);
}

static void test_training(void **state)
{
    (void)state;
    (void)check_net("resnet18", 256, 224, true, DTYPE_F32, false);
    (void)check_net("resnet18", 256, 224, true, DTYPE_F32, true);
    (void)check_net("resnext50_32x4d", 256, 224, true, DTYPE_F16, false);
    (void)check_net("resnet20", 128, 32, true, DTYPE_F16, false);
    (void)check_net("resnet20", 128, 32, true, DTYPE_BF16, false);
    (void)check_net("resnet20", 128, 32, true, DTYPE_F32, false);
}

/* In inference each convolution includes its batch norm, relu, and shortcut. */
static void test_inference(void **state)
{
    (void)state;
    (void)check_net("resnet50", 256, 224, false, DTYPE_F16, false);
    (void)check_net("resnet50", 256, 224, false, DTYPE_BF16, false);
    (void)check_net("resnet50", 256, 224, false, DTYPE_F32, true);
    (void)check_net("resnet50", 256, 224, false, DTYPE_F32, false);
}

/* 8-bit, with a stem of three channels and a classifier not a multiple of 16. */
static void test_bytes(void **state)
{
    const struct quantized_choice all = {.enable = true, .first = true, .last = true};
    struct device *dev = ask_open();
    struct graph *floats;
    struct tensor **map;
    struct program *p;
    struct asked a;
    struct net n;

    (void)state;
    forward_build(&n, "resnet50", 256, 224, false);
    floats = n.graph;
    n.graph = n.b.g = graph_new(&graph_ops_default, false);
    quantized_net(&n.b, floats, n.logits, &all, &map);
    graph_output(n.graph, map[n.logits->id]);
    graph_flatten(n.graph);
    p = ask_compile(n.graph, dev);
    a = ask_convs(p, "resnet50, batch 256, int8, inference");
    assert_int_equal(a.convs, 54);
    assert_true(a.workspace <= (size_t)256 << 20);
    free(map);
    program_free(p);
    graph_free(n.graph);
    graph_free(floats);
    backend_cuda.close(dev);
}

/* ---- the folder of plans ---- */

static const struct cudnn_plan *plan_of(const struct program *p, int region)
{
    const struct region *r = p->region[region];

    return r->kernel->run == cudnn_region_run
               ? ((const struct cudnn_state *)r->state)->plan
               : NULL;
}

/* Plans of a net; `want`: plans of an earlier start, which these must equal. With a
 * driver, some plans are of run-time compiled engines, which are not kept. */
struct plans {
    struct cudnn_plan plan[200];
    int n, kept, from_cache;
};

static void collect(struct plans *dst, const char *folder, const struct plans *want)
{
    struct device *dev = ask_open();
    struct net n;
    struct program *p;

    dev->options.cache = folder;
    net_build(&n, "resnet18", 64, 224, true, DTYPE_F16);
    p = ask_compile(n.graph, dev);
    *dst = (struct plans){0};
    for (int i = 0; i < p->nregion; i++) {
        const struct cudnn_plan *plan = plan_of(p, i);

        if (!plan)
            continue;
        dst->plan[dst->n++] = *plan;
        dst->kept += plan->desc != NULL;
        dst->from_cache += plan->from_cache;
    }
    for (int i = 0; want && i < dst->n; i++) {
        assert_int_equal(dst->plan[i].engine, want->plan[i].engine);
        assert_int_equal(dst->plan[i].workspace, want->plan[i].workspace);
        assert_string_equal(dst->plan[i].notes, want->plan[i].notes);
        assert_int_equal(dst->plan[i].nuid, want->plan[i].nuid);
    }
    assert_int_equal(dst->n, 59);
    assert_true(dst->kept == dst->n || ask_driver());
    program_free(p);
    graph_free(n.graph);
    backend_cuda.close(dev);
}

static void overwrite(const char *path, const char *text, size_t len)
{
    assert_int_equal(atomic_write_file(path, text, len), 0);
}

static void test_cache(void **state)
{
    char folder[] = "/tmp/trainc-plans-XXXXXX";
    static struct plans none, first, second, third;
    char **name, *path[2], *text[2], *digit;
    size_t len[2];
    int n;

    (void)state;
    assert_non_null(mkdtemp(folder));
    collect(&none, NULL, NULL);
    collect(&first, folder, &none);
    assert_int_equal(first.from_cache, 0);
    collect(&second, folder, &none);
    assert_int_equal(second.from_cache, second.kept);

    /* truncated, another plan's file, and one digit of a plan changed */
    name = dir_list(folder, &n);
    assert_true(n >= 20 && n < 59); /* equal layers share a plan */
    for (int i = 0; i < 2; i++) {
        path[i] = path_join(folder, name[i]);
        text[i] = file_read(path[i], &len[i]);
        assert_non_null(text[i]);
    }
    overwrite(path[0], text[0], len[0] / 2);
    collect(&third, folder, &none);
    assert_true(third.from_cache < third.kept);
    collect(&third, folder, &none); /* it was rewritten */
    assert_int_equal(third.from_cache, third.kept);
    overwrite(path[0], text[1], len[1]);
    collect(&third, folder, &none);
    assert_true(third.from_cache < third.kept);
    digit = strstr(text[0], "engine\\\"");
    assert_non_null(digit);
    digit += strcspn(digit, "0123456789");
    *digit = *digit == '1' ? '2' : '1';
    overwrite(path[0], text[0], len[0]);
    collect(&third, folder, &none);
    assert_true(third.from_cache < third.kept);

    for (int i = 0; i < n; i++) {
        char *full = path_join(folder, name[i]);

        assert_int_equal(unlink(full), 0);
        free(full);
    }
    assert_int_equal(rmdir(folder), 0);
    for (int i = 0; i < 2; i++) {
        free(path[i]);
        free(text[i]);
    }
    dir_list_free(name, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training),  cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_inference), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
