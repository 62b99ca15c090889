/*
 * Exported networks against PyTorch: scripts/golden/pt2.py writes the archives and the
 * results. With arguments, compares other ones:
 *
 *   test_pt2_golden NET.pt2 NET.json ...
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/json.h"
#include "models/table.h"
#include "tests/models/golden_net.h"
#include "tests/models/golden_train.h"
#include "tests/test.h"

static char **given;
static int ngiven;

static void check(const char *archive, const char *golden)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = model_find("pt2", archive, &why);

    if (!m)
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    golden_train_archive(m, golden);
}

/* Convolutions, a norm, activations in place, pools, a gate, concatenation. */
static void test_residual(void **state)
{
    (void)state;
    check("tests/golden/pt2/residual.pt2", "tests/golden/pt2/residual.json");
}

/* The same file with batches of 2 and 7: BATCH=2 LIMIT=60 scripts/golden/pt2.py FOLDER
 * small:residual, with the archive in FOLDER. */
static void test_batches(void **state)
{
    (void)state;
    check("tests/golden/pt2/residual.pt2", "tests/golden/pt2/residual_2.json");
    check("tests/golden/pt2/residual.pt2", "tests/golden/pt2/residual_7.json");
}

/* A class token, positions, attention, a layer scale. */
static void test_tokens(void **state)
{
    (void)state;
    check("tests/golden/pt2/tokens.pt2", "tests/golden/pt2/tokens.json");
}

/* Copies: an image flattened in PyTorch's order, chunks, a shuffle, strided slices. */
static void test_moves(void **state)
{
    (void)state;
    check("tests/golden/pt2/moves.pt2", "tests/golden/pt2/moves.json");
}

/* Products, softmax, attention with a bias, windows, rolls, norms, padding. */
static void test_general(void **state)
{
    (void)state;
    check("tests/golden/pt2/general.pt2", "tests/golden/pt2/general.json");
}

/* Weights that are transposed, start within a storage, and share one. */
static void test_strides(void **state)
{
    (void)state;
    check("tests/golden/pt2/strides.pt2", "tests/golden/pt2/strides.json");
}

/* Two names for one weight. */
static void test_tied(void **state)
{
    (void)state;
    check("tests/golden/pt2/tied.pt2", "tests/golden/pt2/tied.json");
}

/* Indices, masks, and sines that are computed once. */
static void test_constants(void **state)
{
    (void)state;
    check("tests/golden/pt2/constants.pt2", "tests/golden/pt2/constants.json");
}

/* Windows, flips, repeats, reflected edges, maxima, sums of products. */
static void test_picks(void **state)
{
    (void)state;
    check("tests/golden/pt2/picks.pt2", "tests/golden/pt2/picks.json");
}

/* Composed norms, standardized weights, computed biases. */
static void test_norms(void **state)
{
    (void)state;
    check("tests/golden/pt2/norms.pt2", "tests/golden/pt2/norms.json");
}

/* Writes to parts of tensors, and a region of its own. */
static void test_writes(void **state)
{
    (void)state;
    check("tests/golden/pt2/writes.pt2", "tests/golden/pt2/writes.json");
}

/* LSTMs: in both directions, two layers, with and without biases. */
static void test_recurrent(void **state)
{
    (void)state;
    check("tests/golden/pt2/recurrent.pt2", "tests/golden/pt2/recurrent.json");
}

/* One network, written by four versions of PyTorch, in three containers. */
static void test_versions(void **state)
{
    (void)state;
    check("tests/golden/pt2/versions.pt2", "tests/golden/pt2/versions.json");
    check("tests/golden/pt2/versions_2.12.pt2", "tests/golden/pt2/versions.json");
    check("tests/golden/pt2/versions_2.8.pt2", "tests/golden/pt2/versions.json");
    check("tests/golden/pt2/versions_2.6.pt2", "tests/golden/pt2/versions.json");
}

/* Auxiliary outputs: of a dict and a list, and of pixels at three resolutions. */
static void test_outputs(void **state)
{
    (void)state;
    check("tests/golden/pt2/auxiliary.pt2", "tests/golden/pt2/auxiliary.json");
    check("tests/golden/pt2/deep.pt2", "tests/golden/pt2/deep.json");
}

/* Residual blocks. */
static void test_stages(void **state)
{
    (void)state;
    check("tests/golden/pt2/stages.pt2", "tests/golden/pt2/stages.json");
}

/* Factors of the learning rate: timm's param_groups_layer_decay(model, layer_decay=0.6). */
static void test_layer_decay(void **state)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = model_find("pt2", "tests/golden/pt2/stages.pt2", &why);
    json_t *root = json_load_file("tests/golden/pt2/stages.json", 0, NULL),
           *want = json_object_get(root, "layer_scale"), *factor;
    int n = (int)json_object_size(want), i = 0;
    struct tensor *t = xcalloc((size_t)n, sizeof(*t));
    struct segment *s = xcalloc((size_t)n, sizeof(*s));
    float *scale = xcalloc((size_t)n, sizeof(*scale));
    struct flat f = {.segment = s, .nsegment = n, .ntrained = n, .nparam = n};
    const char *name;

    (void)state;
    if (!m)
        fail_msg("%s", why.buf);
    json_object_foreach(want, name, factor)
    {
        t[i].name = name;
        s[i].tensor = &t[i];
        i++;
    }
    assert_int_equal(i, 16);
    layer_scales(m->family->layers, NULL, &f, 0.6, scale);
    for (i = 0; i < n; i++) {
        double x = json_number_value(json_object_get(want, t[i].name));

        if (!(fabs((double)scale[i] - x) <= 1e-6))
            fail_msg("%s has %g, not %g", t[i].name, (double)scale[i], x);
    }
    free(scale);
    free(s);
    free(t);
    json_decref(root);
    strbuf_release(&why);
}

/* Two archives of a network that computes something else in eval mode. */
static void test_branches(void **state)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = model_find("pt2", "tests/golden/pt2/branches.pt2", &why);

    (void)state;
    if (m)
        m = model_pair(m, "tests/golden/pt2/branches_eval.pt2", &why);
    if (!m)
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    golden_train_archive(m, "tests/golden/pt2/branches.json");
}

/* Logits that are the mean of two heads, which have other classes than in the archive. */
static void test_heads(void **state)
{
    static const char *const names[] = {"head", "head_dist"};
    const struct str_list heads = {names, 2};
    struct strbuf why = STRBUF_INIT;
    const struct model *m = model_find("pt2", "tests/golden/pt2/distilled.pt2", &why);

    (void)state;
    if (m)
        m = model_pair(m, "tests/golden/pt2/distilled_eval.pt2", &why);
    if (m)
        m = m->family->choose_heads(m, &heads, &why);
    if (!m) {
        fail_msg("%s", why.buf);
        return;
    }
    strbuf_release(&why);
    golden_train_archive(m, "tests/golden/pt2/distilled.json");
    assert_string_equal(m->family->heads[0], "head");
    assert_string_equal(m->family->heads[1], "head_dist");
    assert_null(m->family->heads[2]);
}

static void test_given(void **state)
{
    (void)state;
    golden_mean_floor = 1e-6;
    for (int i = 0; i + 1 < ngiven; i += 2)
        check(given[i], given[i + 1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residual),  cmocka_unit_test(test_batches),
        cmocka_unit_test(test_tokens),    cmocka_unit_test(test_moves),
        cmocka_unit_test(test_general),   cmocka_unit_test(test_strides),
        cmocka_unit_test(test_tied),      cmocka_unit_test(test_constants),
        cmocka_unit_test(test_picks),     cmocka_unit_test(test_norms),
        cmocka_unit_test(test_writes),    cmocka_unit_test(test_versions),
        cmocka_unit_test(test_branches),  cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_stages),    cmocka_unit_test(test_layer_decay),
        cmocka_unit_test(test_recurrent), cmocka_unit_test(test_heads),
    };
    const struct CMUnitTest others[] = {cmocka_unit_test(test_given)};

    given = argv + 1;
    ngiven = argc - 1;
    return argc > 1 ? cmocka_run_group_tests(others, NULL, NULL)
                    : cmocka_run_group_tests(tests, NULL, NULL);
}
