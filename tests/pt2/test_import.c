/* The import of exported programs: strides of values, writes in place, and refusals. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "models/table.h"
#include "ops/add.h"
#include "ops/table.h"
#include "pt2/import.h"
#include "pt2/pair.h"
#include "tests/test.h"

/* ---- programs ---- */

#define TYPE(dims)                                                                       \
    "{\"dtype\":7,\"sizes\":[" dims "],\"requires_grad\":true,\"layout\":7}"
#define BATCH  "{\"as_expr\":{\"expr_str\":\"s0\"}}"
#define DIM(n) "{\"as_int\":" #n "}"
#define IMAGES TYPE(BATCH "," DIM(4) "," DIM(2) "," DIM(2))
#define LOGITS TYPE(BATCH "," DIM(4))

/* A program of images [N,4,2,2] and logits [N,4], "y". */
#define PROGRAM(major, nodes)                                                            \
    "{\"archive\":\"test.pt2\",\"schema_version\":{\"major\":" #major                    \
    "},\"graph_module\":{\"graph\":{\"nodes\":[" nodes                                   \
    "],\"tensor_values\":{\"x\":" IMAGES ",\"y\":" LOGITS                                \
    "}},\"signature\":{\"input_specs\":[{\"user_input\":{\"arg\":{\"as_tensor\":{"       \
    "\"name\":\"x\"}}}}],\"output_specs\":[{\"user_output\":{\"arg\":{\"as_tensor\":{"   \
    "\"name\":\"y\"}}}}]}}}"
#define T(arg, name)                                                                     \
    "{\"name\":\"" arg "\",\"arg\":{\"as_tensor\":{\"name\":\"" name "\"}}}"
#define I(arg, n)    "{\"name\":\"" arg "\",\"arg\":{\"as_int\":" #n "}}"
#define L(arg, list) "{\"name\":\"" arg "\",\"arg\":{\"as_ints\":[" list "]}}"
#define S(arg, name)                                                                     \
    "{\"name\":\"" arg "\",\"arg\":{\"as_tensors\":[{\"name\":\"" name "\"}]}}"
#define NODE(op, in, out)                                                                \
    "{\"target\":\"torch.ops.aten." op "\",\"inputs\":[" in                              \
    "],\"outputs\":[{\"as_tensor\":{\"name\":\"" out                                     \
    "\"}}],\"metadata\":{\"nn_module_stack\":\"a,,b;c,layer1.0,d\"},\"name\":\"" out     \
    "\"}"
#define MEAN(input) NODE("mean.dim", T("self", input) "," L("dim", "2,3"), "y")

struct imported {
    struct pt2_program *p;
    struct graph *g;
    struct tensor *y;
    struct strbuf why;
};

static struct imported import(const char *text, int64_t classes)
{
    struct imported i = {.why = STRBUF_INIT};
    struct builder b = {0};
    struct pt2_results r;
    struct pt2_job job;
    struct tensor *x;

    i.g = b.g = graph_new(&graph_ops_default, true);
    i.p = pt2_program_parse(text, strlen(text), &i.why);
    if (!i.p)
        return i;
    x = graph_input(&b, "x", DTYPE_F32, LAYOUT_IMAGE, 4, (const int64_t[]){3, 4, 2, 2});
    job = (struct pt2_job){
        .program = i.p, .training = i.p, .classes = classes, .aux = true};
    if (pt2_import(&b, &job, x, &r, &i.why))
        i.y = r.logits;
    return i;
}

static void release(struct imported *i)
{
    graph_free(i->g);
    pt2_program_free(i->p);
    strbuf_release(&i->why);
}

static void refused(const char *text, const char *reason)
{
    struct imported i = import(text, 4);

    assert_null(i.y);
    if (!strstr(i.why.buf, reason))
        fail_msg("'%s' does not say '%s'", i.why.buf, reason);
    release(&i);
}

static void test_import(void **state)
{
    struct imported i =
        import(PROGRAM(8, NODE("relu.default", T("self", "x"), "r") "," MEAN("r")), 4);

    (void)state;
    assert_non_null(i.y);
    assert_int_equal(i.g->nnode, 3); /* relu, global_avgpool, view */
    assert_string_equal(i.g->node[0]->layer, "layer1.0");
    release(&i);
}

static void test_refusals(void **state)
{
    (void)state;
    refused(PROGRAM(7, MEAN("x")), "version 7");
    refused(PROGRAM(8, MEAN("z")), "it reads 'z', which no earlier node makes");
    refused(PROGRAM(8, NODE("fft.default", T("self", "x"), "r") "," MEAN("r")),
            "node 'r' of 'layer1.0': aten.fft.default: this operator is not supported");
    refused(PROGRAM(8, NODE("relu.default", T("self", "x") "," I("slope", 2),
                            "r") "," MEAN("r")),
            "the argument 'slope' is not supported");
    refused(PROGRAM(8, NODE("relu.default", T("self", "x"), "y")), "has 4 dims, and 2");
    refused(
        PROGRAM(8, NODE("slice.Tensor", T("self", "x") "," I("dim", 1) "," I("end", 2),
                        "s") "," MEAN("s")),
        "dim 1 of its result is 2, and 4 in PyTorch");
    refused("{\"archive\":\"a\"}", "version 0");
    refused("[", "");
}

/* The same with a second output, "z" of the type `dims`, which is auxiliary. */
static void refused_aux(const char *nodes, const char *dims, const char *reason)
{
    char *text = xasprintf(
        "{\"archive\":\"test.pt2\",\"outputs\":[\"logits\",\"side\"],"
        "\"schema_version\":{\"major\":8},\"graph_module\":{\"graph\":{\"nodes\":[%s],"
        "\"tensor_values\":{\"x\":" IMAGES ",\"y\":" LOGITS ",\"z\":%s}},"
        "\"signature\":{\"input_specs\":[{\"user_input\":{\"arg\":{\"as_tensor\":{"
        "\"name\":\"x\"}}}}],\"output_specs\":[{\"user_output\":{\"arg\":{"
        "\"as_tensor\":{\"name\":\"y\"}}}},{\"user_output\":{\"arg\":{\"as_tensor\":{"
        "\"name\":\"z\"}}}}]}}}",
        nodes, dims);

    refused(text, reason);
    free(text);
}

static void test_aux(void **state)
{
    (void)state;
    refused_aux(MEAN("x") "," NODE("relu.default", T("self", "x"), "z"), IMAGES,
                "its output 'side' is [N, 4, 2, 2], but logits are [N, 4]");
    refused_aux(MEAN("x") "," NODE("relu.default", T("self", "y"), "z"),
                TYPE(BATCH "," DIM(3)), "its output 'side' is [N, 3], but logits");
    refused_aux(MEAN("x"), LOGITS, "its output is not a tensor [N, classes]");
}

#define LSTM(fill)                                                                       \
    PROGRAM(8, NODE(fill, L("size", "1,3,4"), "h") "," NODE(                             \
                   "lstm.input", T("input", "x") "," S("hx", "h") "," S("params", "x"),  \
                   "r") "," MEAN("r"))

static void test_lstm(void **state)
{
    (void)state;
    refused(LSTM("ones.default"), "aten.lstm.input: a first state that is not 0");
    refused(LSTM("zeros.default"),
            "aten.lstm.input: its operand is not a batch of sequences");
}

/* Without a layer at the end, the number of classes is that of the archive. */
static void test_classes(void **state)
{
    struct imported i = import(PROGRAM(8, MEAN("x")), 5);

    (void)state;
    assert_null(i.y);
    assert_non_null(strstr(i.why.buf, "4 logits"));
    release(&i);
}

/* After relu_(x), `x` is its result: the sum has one operand twice. */
static void test_in_place(void **state)
{
    struct imported i = import(
        PROGRAM(8, NODE("neg.default", T("self", "x"), "n") "," NODE(
                       "relu_.default", T("self", "n"),
                       "r") "," NODE("add.Tensor", T("self", "n") "," T("other", "r"),
                                     "s") "," MEAN("s")),
        4);

    (void)state;
    assert_non_null(i.y);
    for (int k = 0; k < i.g->nnode; k++)
        if (i.g->node[k]->op == &op_add) {
            assert_ptr_equal(i.g->node[k]->in[0], i.g->node[k]->in[1]);
            release(&i);
            return;
        }
    fail_msg("there is no add");
}

/* A view of other dims than those that are written is read afterwards. */
static void test_alias(void **state)
{
    (void)state;
    refused(PROGRAM(8, NODE("neg.default", T("self", "x"), "n") "," NODE(
                           "flatten.using_ints", T("self", "n") "," I("start_dim", 2),
                           "f") "," NODE("relu_.default", T("self", "n"),
                                         "r") "," NODE("mean.dim",
                                                       T("self", "f") "," L("dim", "2"),
                                                       "y")),
            "it writes in place what 'f' shows in another shape");
}

/* ---- strides ---- */

static struct pt2_value image(struct tensor *t)
{
    *t = (struct tensor){
        .name = "x", .layout = LAYOUT_IMAGE, .ndim = 4, .dim = {2, 6, 3, 5}};
    return pt2_value_of(t);
}

/* Rows and columns of an image join; its channels do not join with them. */
static void test_view(void **state)
{
    struct tensor t;
    struct pt2_value v = image(&t), w = v;

    (void)state;
    assert_true(pt2_value_view(&v, 3, (const int64_t[]){2, 6, 15}));
    assert_int_equal(v.stride[1], 1);
    assert_int_equal(v.stride[2], 6);
    assert_true(pt2_value_view(&v, 4, (const int64_t[]){2, 2, 3, 15}));
    assert_int_equal(v.stride[1], 3);
    v = w;
    assert_false(pt2_value_view(&v, 2, (const int64_t[]){2, 90}));
    pt2_value_permute(&v, (const int[]){0, 2, 3, 1});
    assert_true(pt2_value_view(&v, 2, (const int64_t[]){2, 90}));
    assert_true(pt2_value_stored(&v, (const int[]){0, 1}));
}

static void test_order(void **state)
{
    struct tensor t;
    struct pt2_value v = image(&t);
    int order[PT2_DIMS];

    (void)state;
    assert_true(pt2_value_order(&v, order));
    assert_int_equal(order[1], 2);
    assert_int_equal(order[3], 1);
    v.dim[1] = 3; /* half of the channels: gaps */
    assert_false(pt2_value_order(&v, order));
    v = image(&t);
    assert_true(pt2_value_expand(&v, 5, (const int64_t[]){7, 2, 6, 3, 5}));
    assert_int_equal(v.stride[0], 0);
    assert_false(pt2_value_order(&v, order));
    assert_false(pt2_value_expand(&v, 5, (const int64_t[]){7, 2, 6, 3, 6}));
}

/* ---- images ---- */

static void images(const char *input, const char *reason)
{
    char *text = xasprintf("{\"input\":%s,%s", input, &PROGRAM(8, MEAN("x"))[1]);
    struct strbuf why = STRBUF_INIT;
    struct pt2_program *p = pt2_program_parse(text, strlen(text), &why);

    assert_int_equal(!p, reason != NULL);
    if (reason && !strstr(why.buf, reason))
        fail_msg("'%s' does not say '%s'", why.buf, reason);
    if (p)
        assert_true(p->images.mean[0] == 0.485 && p->images.std[2] == 0.5 &&
                    p->images.crop_pct == 1 && p->images.bilinear);
    pt2_program_free(p);
    strbuf_release(&why);
    free(text);
}

/* What the archive says of its images, also after a checkpoint carried it. */
static void test_images(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct pt2_program *p = pt2_program_read("tests/golden/pt2/recurrent.pt2", &why),
                       *q = p ? pt2_program_parse(p->text, strlen(p->text), &why) : NULL;

    (void)state;
    if (!q) {
        fail_msg("%s", why.buf);
        return;
    }
    assert_true(q->images.mean[2] == 0.125 && q->images.std[1] == 0.25 &&
                q->images.crop_pct == 1 && q->images.bilinear);
    assert_memory_equal(&p->images, &q->images, sizeof(p->images));
    pt2_program_free(p);
    pt2_program_free(q);
    images("{\"std\":[1,1,0.5],\"crop_pct\":1,\"interpolation\":\"bilinear\"}", NULL);
    images("3", "extra/input is not a JSON object");
    images("{\"mean\":[0,0]}", "not a list of 3 numbers");
    images("{\"std\":[1,1,0]}", "not a list of 3 numbers");
    images("{\"std\":[1,1,1,1]}", "not a list of 3 numbers");
    images("{\"interpolation\":\"nearest\"}", "neither bilinear nor bicubic");
    images("{\"crop_pct\":1.5}", "not between 0 and 1");
    strbuf_release(&why);
}

/* ---- pairs ---- */

#define WEIGHTED(kind, name, dims, more)                                                 \
    "{\"archive\":\"" name "\",\"schema_version\":{\"major\":8},\"graph_module\":{"      \
    "\"graph\":{\"nodes\":[" MEAN(                                                       \
        "x") "],\"tensor_values\":{\"x\":" IMAGES                                        \
             ",\"w\":" TYPE(dims) ",\"y\":" LOGITS "}},\"signature\":{\"input_specs\":[" \
                                  "{\"" kind "\":{\"arg\":{\"name\":\"w\"},\"" kind      \
                                  "_name\":\"a.w\"" more "}},"                           \
                                  "{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":"   \
                                  "\"x\"}}}}],\"output_specs\":["                        \
                                  "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":"  \
                                  "\"y\"}}}}]}}}"

static void pair(const char *a, const char *b, const char *reason)
{
    struct strbuf why = STRBUF_INIT;
    struct pt2_program *p = pt2_program_parse(a, strlen(a), &why),
                       *q = pt2_program_parse(b, strlen(b), &why);

    if (!p || !q)
        fail_msg("%s", why.buf);
    assert_int_equal(pt2_pair_check(p, q, &why), !reason);
    if (reason && !strstr(why.buf, reason))
        fail_msg("'%s' does not say '%s'", why.buf, reason);
    pt2_program_free(p);
    pt2_program_free(q);
    strbuf_release(&why);
}

static void test_pair(void **state)
{
    static const char plain[] = PROGRAM(8, MEAN("x")),
                      weight[] = WEIGHTED("parameter", "a.pt2", DIM(3), ""),
                      other[] = WEIGHTED("parameter", "b.pt2", DIM(4), ""),
                      buffer[] =
                          WEIGHTED("buffer", "c.pt2", DIM(3), ",\"persistent\":true");

    (void)state;
    pair(weight, weight, NULL);
    pair(weight, plain, "'test.pt2' has no parameter 'a.w', which 'a.pt2' has");
    pair(plain, weight, "'test.pt2' has no parameter 'a.w', which 'a.pt2' has");
    pair(weight, other, "the parameter 'a.w' is [3] in 'a.pt2' and [4] in 'b.pt2'");
    pair(weight, buffer, "'c.pt2' has no parameter 'a.w', which 'a.pt2' has");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import),  cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_classes), cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_alias),   cmocka_unit_test(test_view),
        cmocka_unit_test(test_order),   cmocka_unit_test(test_pair),
        cmocka_unit_test(test_images),  cmocka_unit_test(test_lstm),
        cmocka_unit_test(test_aux),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
