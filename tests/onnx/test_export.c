/*
 * Reads ONNX files back with protobuf: nodes, attributes, shapes, and numbers equal those
 * of tests/golden/onnx/NAME.txt, which scripts/check_onnx.py writes after onnxruntime has
 * matched our logits. With --write DIR, writes the input of that script.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "io/written.h"
#include "onnx/onnx.pb-c.h"
#include "tests/make_folder.h"
#include "tests/onnx/onnx_nets.h"
#include "tests/test.h"

static Onnx__ModelProto *read_model(const char *path)
{
    size_t len;
    char *data = file_read(path, &len);
    Onnx__ModelProto *m;

    assert_non_null(data);
    m = onnx__model_proto__unpack(NULL, len, (uint8_t *)data);
    assert_non_null(m);
    free(data);
    return m;
}

static void add_ints(struct strbuf *s, size_t n, const int64_t *v)
{
    for (size_t i = 0; i < n; i++)
        strbuf_addf(s, "%s%" PRId64, i ? "," : "", v[i]);
}

static double element(const Onnx__TensorProto *t, size_t i)
{
    const uint8_t *ptr = t->raw_data.data;
    float f;
    int32_t d;
    int64_t q;

    switch (t->data_type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
        memcpy(&f, ptr + i * sizeof(f), sizeof(f));
        return (double)f;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
        memcpy(&d, ptr + i * sizeof(d), sizeof(d));
        return d;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
        memcpy(&q, ptr + i * sizeof(q), sizeof(q));
        return (double)q;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT8:
        return (int8_t)ptr[i];
    default:
        return ptr[i];
    }
}

/* Name, type, dims, and a sum that depends on order and sign but not on the last
 * digits. */
static void add_tensor(struct strbuf *s, const Onnx__TensorProto *t)
{
    size_t len = 1;
    double sum = 0;

    for (size_t i = 0; i < t->n_dims; i++)
        len *= (size_t)t->dims[i];
    for (size_t i = 0; i < len; i++)
        sum += (element(t, i) + 3) * (double)(1 + i % 7);
    strbuf_addf(s, "tensor %s type %d [", t->name, (int)t->data_type);
    add_ints(s, t->n_dims, t->dims);
    strbuf_addf(s, "] %.5g\n", sum);
}

static void add_node(struct strbuf *s, const Onnx__NodeProto *n)
{
    strbuf_addf(s, "%s %s <-", n->op_type, n->output[0]);
    for (size_t i = 0; i < n->n_input; i++)
        strbuf_addf(s, " %s", n->input[i]);
    for (size_t i = 0; i < n->n_attribute; i++) {
        const Onnx__AttributeProto *a = n->attribute[i];

        strbuf_addf(s, " %s=", a->name);
        if (a->has_f)
            strbuf_addf(s, "%.6g", (double)a->f);
        else if (a->has_i)
            strbuf_addf(s, "%" PRId64, a->i);
        else
            add_ints(s, a->n_ints, a->ints);
    }
    strbuf_addf(s, "\n");
}

static void add_value(struct strbuf *s, const char *what, const Onnx__ValueInfoProto *v)
{
    const Onnx__TensorShapeProto *shape = v->type->tensor_type->shape;

    strbuf_addf(s, "%s %s", what, v->name);
    for (size_t i = 0; i < shape->n_dim; i++)
        if (shape->dim[i]->value_case ==
            ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
            strbuf_addf(s, " %s", shape->dim[i]->dim_param);
        else
            strbuf_addf(s, " %" PRId64, shape->dim[i]->dim_value);
    strbuf_addf(s, "\n");
}

static void describe(struct strbuf *s, const char *path)
{
    Onnx__ModelProto *m = read_model(path);
    const Onnx__GraphProto *g = m->graph;

    strbuf_addf(s, "%s %s ir %" PRId64 " opset %" PRId64 "\n", g->name, m->producer_name,
                m->ir_version, m->opset_import[0]->version);
    add_value(s, "input", g->input[0]);
    add_value(s, "output", g->output[0]);
    for (size_t i = 0; i < g->n_node; i++)
        add_node(s, g->node[i]);
    for (size_t i = 0; i < g->n_initializer; i++)
        add_tensor(s, g->initializer[i]);
    onnx__model_proto__free_unpacked(m, NULL);
}

static void write_file(const char *dir, const char *name, const char *end,
                       const void *data, size_t size)
{
    char *path = xasprintf("%s/%s%s", dir, name, end);
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static char *write_model(struct onnx_trial *t, const struct onnx_net *net,
                         const char *dir)
{
    struct onnx *x = onnx_trial_export(t, net);
    char *path = xasprintf("%s/%s.onnx", dir, net->name);
    struct strbuf why = STRBUF_INIT;

    if (onnx_write(x, path, &why))
        fail_msg("%s", why.buf);
    onnx_free(x);
    return path;
}

/* Exports the net and appends its description. Returns the path. */
static char *export_net(const struct onnx_net *net, const char *dir, struct strbuf *text)
{
    struct onnx_trial t;
    char *path;

    onnx_trial_init(&t, net, ONNX_BATCH);
    path = write_model(&t, net, dir);
    describe(text, path);
    onnx_trial_release(&t);
    return path;
}

/* Writes what onnxruntime needs to run it. */
static void write_all(const struct onnx_net *net, const char *dir)
{
    struct strbuf text = STRBUF_INIT;
    struct onnx_trial t;
    char *path;
    float *x, *z;

    path = export_net(net, dir, &text);
    onnx_trial_init(&t, net, ONNX_NET_BATCH);
    write_file(dir, net->name, ".txt", text.buf, text.len);
    x = onnx_trial_images(&t);
    z = onnx_trial_run(&t, x);
    write_file(dir, net->name, ".images", x, tensor_size(t.x));
    write_file(dir, net->name, ".logits", z, tensor_size(t.logits));
    onnx_trial_release(&t);
    strbuf_release(&text);
    free(path);
    free(x);
    free(z);
}

static void compare_lines(const char *name, const char *got, const char *want)
{
    for (int line = 1; *got || *want; line++) {
        int ngot = (int)strcspn(got, "\n"), nwant = (int)strcspn(want, "\n");

        if (ngot != nwant || strncmp(got, want, (size_t)ngot) != 0)
            fail_msg("%s, line %d: '%.*s', not '%.*s'", name, line, ngot, got, nwant,
                     want);
        got += ngot + (got[ngot] != '\0');
        want += nwant + (want[nwant] != '\0');
    }
}

static void test_net(void **state)
{
    const struct onnx_net *net = *state;
    char *dir = make_temp_dir(), *golden, *path, *want;
    struct strbuf got = STRBUF_INIT;
    size_t len;

    path = export_net(net, dir, &got);
    assert_true(written_is(path, WRITTEN_ONNX));
    golden = xasprintf("tests/golden/onnx/%s.txt", net->name);
    want = file_read(golden, &len);
    if (!want)
        fail_msg("%s cannot be read", golden);
    compare_lines(golden, got.buf, want);
    remove_temp_dir(dir);
    strbuf_release(&got);
    free(golden);
    free(want);
    free(path);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[64];
    const struct onnx_net *net = onnx_nets;
    size_t n = 0;

    for (; argc > 2 && net->name; net++)
        if (argc < 4 ? !net->large : !strcmp(net->name, argv[3]))
            write_all(net, argv[2]);
    if (argc > 2)
        return 0;
    for (; net->name; net++) {
        union {
            const void *given;
            void *kept;
        } state = {net};

        if (!net->large)
            tests[n++] = (struct CMUnitTest){
                .name = net->name, .test_func = test_net, .initial_state = state.kept};
    }
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return _cmocka_run_group_tests("onnx", tests, n, NULL, NULL);
}
