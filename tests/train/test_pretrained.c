/* MODEL.PRETRAINED: state dicts as other programs write them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/half.h"
#include "base/log.h"
#include "graph/flat.h"
#include "io/safetensors.h"
#include "models/imagenet22k.h"
#include "models/swin_net.h"
#include "session/state.h"
#include "tests/child.h"
#include "tests/test.h"
#include "tests/train/checkpoint_run.h"
#include "train/pretrained.h"
#include "train/weight_grid.h"

static void load_pretrained(void *arg)
{
    pretrained_load(&((struct run *)arg)->s, ckpt_path);
}

/* Returns the offset in memory (channels last) of element k of the tensor in OIHW
 * order. */
static int64_t place_of(const struct tensor *t, int64_t k)
{
    int64_t in, area;

    if (t->layout != LAYOUT_IMAGE)
        return k;
    in = t->dim[1];
    area = t->dim[2] * t->dim[3];
    return (k / (in * area) * area + k % area) * in + k / area % in;
}

static int64_t fc_inputs; /* written in place of fc.weight's, or 0 for the model's */

/* Writes a state dict of `r` as other programs do: in bf16 with a prefix, and without the
 * tensor `leave_out`. */
static void write_state_dict(struct run *r, const char *prefix, const char *leave_out)
{
    const struct flat *f = session_flat(&r->s);
    struct safetensors_writer w = {0};
    struct strbuf why = STRBUF_INIT;
    uint16_t *half = xcalloc((size_t)f->weights_len, sizeof(*half));

    (void)run_weights(r);
    for (int i = 0; i < f->nsegment; i++) {
        const struct segment *s = &f->segment[i];
        const struct tensor *t = s->tensor;
        char *name = xasprintf("%s%s", prefix, t->name);
        int64_t dims[TENSOR_DIMS] = {0};

        for (int64_t k = 0; k < s->len; k++)
            half[s->offset + k] = bf16_from_float(r->weights[s->offset + place_of(t, k)]);
        memcpy(dims, t->dim, (size_t)t->ndim * sizeof(*dims));
        if (fc_inputs && !strcmp(t->name, "fc.weight"))
            dims[1] = fc_inputs;
        if (strcmp(t->name, leave_out) != 0 && !strstr(t->name, "num_batches"))
            safetensors_writer_add(&w, name, SAFETENSORS_BF16, t->ndim, dims,
                                   half + s->offset);
        free(name);
    }
    assert_int_equal(safetensors_writer_commit(&w, ckpt_path, &why), 0);
    safetensors_writer_release(&w);
    free(half);
}

static void test_pretrained(void **state)
{
    static const char *const prefixes[] = {"_orig_mod.", "_orig_mod.module.", "model.",
                                           "student.backbone."};
    struct run a, b, c, d;
    const struct flat *f;
    int moved = 0;

    (void)state;
    run_init(&a, NULL);
    run_init(&b, (const char *[]){"SEED", "7", NULL});
    run_init(&c, (const char *[]){"MODEL.NUM_CLASSES", "5", NULL});
    f = session_flat(&a.s);
    run_steps(&a, 1);
    write_state_dict(&a, "module.", "");
    load_pretrained(&b);
    (void)run_weights(&a);
    (void)run_weights(&b);
    for (int64_t i = 0; i < f->param_len; i++) {
        assert_true(b.weights[i] == bf16_to_float(bf16_from_float(a.weights[i])));
        moved += b.weights[i] != 0;
    }
    assert_true(moved > 200000);

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        run_init(&d, NULL);
        write_state_dict(&a, prefixes[i], "");
        load_pretrained(&d);
        (void)run_weights(&d);
        assert_memory_equal(b.weights, d.weights, (size_t)f->param_len * sizeof(float));
        run_release(&d);
    }

    /* If the number of classes differs, the classifier is unchanged and all else is
     * loaded. */
    load_pretrained(&c);
    (void)run_weights(&c);
    assert_string_equal(session_flat(&c.s)->segment[0].tensor->name, "fc.bias");
    for (int i = 0; i < f->nparam; i++) {
        const struct segment *s = &f->segment[i], *t = &session_flat(&c.s)->segment[i];

        if (strncmp(s->tensor->name, "fc.", 3) != 0)
            assert_memory_equal(b.weights + s->offset, c.weights + t->offset,
                                (size_t)s->len * sizeof(float));
    }

    write_state_dict(&a, "", "layer3.1.conv2.weight");
    check_dies(load_pretrained, &b, "115 of 116 tensors match, 1 of");
    fc_inputs = 32; /* the same classes, from another model */
    write_state_dict(&a, "", "");
    check_dies(load_pretrained, &b, "115 of 116 tensors match, 1 of");
    load_pretrained(&c); /* other classes: the classifier is reinitialized anyway */
    fc_inputs = 0;
    run_release(&a);
    run_release(&b);
    run_release(&c);
}

/* MODEL.PRETRAINED_SKIP matches names without the file's prefix, also tensors that only
 * the file has. */
static void test_skip(void **state)
{
    struct run deep, strict, some;

    (void)state;
    run_init(&deep, (const char *[]){"MODEL.NAME", "resnet32", NULL});
    run_init(&strict, NULL);
    run_init(&some, (const char *[]){"MODEL.PRETRAINED_SKIP",
                                     "['layer?.3.*', 'layer?.4.*']", NULL});
    write_state_dict(&deep, "module.", "");
    check_dies(load_pretrained, &strict, "116 of 116 tensors match, 60 of");
    load_pretrained(&some);
    (void)run_weights(&deep);
    (void)run_weights(&some);
    assert_true(some.weights[run_segment(&some, "layer1.0.conv1.weight")->offset] ==
                bf16_to_float(bf16_from_float(
                    deep.weights[run_segment(&deep, "layer1.0.conv1.weight")->offset])));
    run_release(&deep);
    run_release(&strict);
    run_release(&some);
}

/* Oddities that need not stop the run are warnings. */
static void test_told(void **state)
{
    char *path = path_join(ckpt_dir, "log.txt"), *text;
    struct run src, dst;
    size_t len;

    (void)state;
    run_init(&src, NULL);
    run_init(&dst, (const char *[]){"MODEL.PRETRAINED_SKIP",
                                    "['layer1.*', 'bn1.extra', 'head.*']", NULL});
    (void)run_weights(&src);
    src.weights[run_segment(&src, "bn1.bias")->offset + 2] = INFINITY;
    session_set(&src.s, MEMORY_WEIGHTS, src.weights);
    write_state_dict(&src, "", "");
    log_open(path);
    load_pretrained(&dst);
    log_close();
    text = file_read(path, &len);
    assert_non_null(strstr(text, "pretrained: bn1.bias: 1 of 16 values are not finite"));
    assert_null(strstr(strstr(text, "not finite") + 1, "not finite"));
    assert_non_null(strstr(text, "MODEL.PRETRAINED_SKIP: 'bn1.extra' matches no tensor"));
    assert_non_null(strstr(text, "MODEL.PRETRAINED_SKIP: 'head.*' matches no tensor"));
    assert_null(strstr(text, "'layer1.*'"));
    free(text);
    free(path);
    run_release(&src);
    run_release(&dst);
}

/* ---- Swin as published by Microsoft ---- */

#define SWIN                                                                             \
    "MODEL.TYPE", "swin", "MODEL.NAME", "swin_tiny_patch4_window7_224", "DATA.IMG_SIZE", \
        "16", "MODEL.SWIN.PATCH_SIZE", "2", "MODEL.SWIN.EMBED_DIM", "8",                 \
        "MODEL.SWIN.DEPTHS", "[2, 1]", "MODEL.SWIN.NUM_HEADS", "[1, 2]",                 \
        "MODEL.SWIN.APE", "True"

/* Returns Microsoft's name of a parameter. */
static void swin_other_name(const char *name, struct strbuf *other)
{
    int stage, n = 0;

    if (!strncmp(name, "head.fc.", 8))
        strbuf_addf(other, "head.%s", name + 8);
    else if (sscanf(name, "layers.%d.downsample.%n", &stage, &n) == 1 && n)
        strbuf_addf(other, "layers.%d.downsample.%s", stage - 1, name + n);
    else
        strbuf_addstr(other, name);
}

static void add_other(struct safetensors_writer *w, const char *name, const float *v,
                      const struct tensor *t)
{
    struct strbuf other = STRBUF_INIT;

    swin_other_name(name, &other);
    safetensors_writer_add(w, other.buf, SAFETENSORS_F32, t->ndim, t->dim, v);
    strbuf_release(&other);
}

/* Writes the weights under Microsoft's names in fp32, with a buffer that trainc computes
 * itself. */
static void write_microsoft(struct run *r)
{
    const struct flat *f = session_flat(&r->s);
    struct safetensors_writer w = {0};
    struct strbuf why = STRBUF_INIT;
    float *v = xcalloc((size_t)f->weights_len, sizeof(*v));

    (void)run_weights(r);
    for (int i = 0; i < f->nsegment; i++) {
        const struct segment *s = &f->segment[i];

        for (int64_t k = 0; k < s->len; k++)
            v[s->offset + k] = r->weights[s->offset + place_of(s->tensor, k)];
        add_other(&w, s->tensor->name, v + s->offset, s->tensor);
    }
    safetensors_writer_add(&w, "layers.0.blocks.1.attn_mask", SAFETENSORS_F32, 1,
                           (const int64_t[]){4}, v);
    assert_int_equal(safetensors_writer_commit(&w, ckpt_path, &why), 0);
    safetensors_writer_release(&w);
    free(v);
}

/* A bias table or position embedding is resized to the larger window or image. */
static void check_resized(struct run *src, struct run *dst, const char *name,
                          bool resized)
{
    const struct segment *a = run_segment(src, name), *b = run_segment(dst, name);
    const struct tensor *t = b->tensor;
    int64_t c = t->dim[t->ndim - 1];
    float *want = xcalloc((size_t)b->len, sizeof(*want));

    assert_int_equal(a->len != b->len, resized);
    weight_grid_resize(src->weights + a->offset,
                       weight_grid_of(a->tensor->dim[t->ndim - 2]), want,
                       weight_grid_of(t->dim[t->ndim - 2]), c, GRID_BICUBIC);
    assert_memory_equal(want, dst->weights + b->offset, (size_t)b->len * sizeof(*want));
    free(want);
}

static void test_microsoft(void **state)
{
    struct run src, same, large;
    const struct flat *f;

    (void)state;
    run_init(&src, (const char *[]){SWIN, "MODEL.SWIN.WINDOW_SIZE", "4", NULL});
    run_init(&same,
             (const char *[]){SWIN, "MODEL.SWIN.WINDOW_SIZE", "4", "SEED", "7", NULL});
    run_init(&large, (const char *[]){SWIN, "MODEL.SWIN.WINDOW_SIZE", "6", "SEED", "7",
                                      "DATA.IMG_SIZE", "24", NULL});
    f = session_flat(&src.s);
    write_microsoft(&src);
    load_pretrained(&same);
    ckpt_same_array(&src, &same, MEMORY_WEIGHTS);
    load_pretrained(&large);
    (void)run_weights(&large);
    check_resized(&src, &large, "absolute_pos_embed", true);
    check_resized(&src, &large, "layers.0.blocks.1.attn.relative_position_bias_table",
                  true);
    check_resized(&src, &large, "layers.1.blocks.0.attn.relative_position_bias_table",
                  true);
    for (int i = 0; i < f->nsegment; i++) {
        const struct segment *a = &f->segment[i];
        const struct segment *b = run_segment(&large, a->tensor->name);

        if (a->len == b->len)
            assert_memory_equal(src.weights + a->offset, large.weights + b->offset,
                                (size_t)a->len * sizeof(float));
    }
    run_release(&src);
    run_release(&same);
    run_release(&large);
}

/* The rows of ImageNet-1k are selected from a 22k classifier whose row i contains i. */
static void test_22k(void **state)
{
    struct run src, dst;
    const struct segment *a, *b;
    int64_t c;

    (void)state;
    run_init(&src, (const char *[]){SWIN, "MODEL.NUM_CLASSES", "21841", NULL});
    run_init(&dst, (const char *[]){SWIN, "MODEL.NUM_CLASSES", "1000", NULL});
    (void)run_weights(&src);
    a = run_segment(&src, "head.fc.weight");
    b = run_segment(&dst, "head.fc.weight");
    c = a->tensor->dim[1];
    for (int64_t i = 0; i < a->len; i++)
        src.weights[a->offset + i] = (float)(i / c);
    session_set(&src.s, MEMORY_WEIGHTS, src.weights);
    write_microsoft(&src);
    load_pretrained(&dst);
    (void)run_weights(&dst);
    /* tench n01440764, goldfish n01443537, and toilet paper n15075141 */
    assert_true(dst.weights[b->offset] == 359);
    assert_true(dst.weights[b->offset + c] == 368);
    assert_true(dst.weights[b->offset + b->len - 1] == imagenet22k_rows[999]);
    for (int i = 1; i < IMAGENET_1K; i++) /* except one that is not in 22k */
        if (i != 850 && i != 851)
            assert_true(imagenet22k_rows[i] > imagenet22k_rows[i - 1]);
    run_release(&src);
    run_release(&dst);
}

/* Loading replaces the old weights everywhere, including packed copies and EMAs. */
static void test_forgets(void **state)
{
    struct run src, a, b;

    (void)state;
    run_init(&src, NULL);
    write_state_dict(&src, "", "");
    run_init(&a, (const char *[]){"DEVICE", "cpu", "TRAIN.EMA.ENABLE", "True", "SEED",
                                  "7", NULL});
    run_init(&b, (const char *[]){"DEVICE", "cpu", "TRAIN.EMA.ENABLE", "True", "SEED",
                                  "8", NULL});
    load_pretrained(&a);
    load_pretrained(&b);
    run_steps(&a, 1);
    run_steps(&b, 1);
    ckpt_same_array(&a, &b, MEMORY_WEIGHTS);
    ckpt_same_array(&a, &b, MEMORY_EMA);
    run_release(&src);
    run_release(&a);
    run_release(&b);
}

/* ---- a checkpoint written by torchvision's trainer ---- */

static void put_text(FILE *f, const char *s)
{
    uint32_t len = (uint32_t)strlen(s);

    fputc('X', f);
    (void)fwrite(&len, sizeof(len), 1, f);
    (void)fwrite(s, 1, len, f);
}

static void put_int(FILE *f, int64_t v)
{
    fputs("\x8a\x08", f);
    (void)fwrite(&v, sizeof(v), 1, f);
}

static int64_t segment_dim(const struct segment *s, int i)
{
    return s->tensor->ndim ? s->tensor->dim[i] : 1;
}

/* torch._utils._rebuild_tensor_v2(storage, 0, size, stride, False, None) */
static void put_tensor(FILE *f, const struct segment *s, const char *key)
{
    int ndim = s->tensor->ndim ? s->tensor->ndim : 1;
    int64_t stride = 1, strides[4];

    for (int i = ndim; i-- > 0; stride *= segment_dim(s, i))
        strides[i] = stride;
    fputs("ctorch._utils\n_rebuild_tensor_v2\n((", f);
    put_text(f, "storage");
    fputs("ctorch\nFloatStorage\n", f);
    put_text(f, key);
    put_text(f, "cpu");
    put_int(f, s->len);
    fputs("tQK", f);
    fputc(0, f);
    fputc('(', f);
    for (int i = 0; i < ndim; i++)
        put_int(f, segment_dim(s, i));
    fputs("t(", f);
    for (int i = 0; i < ndim; i++)
        put_int(f, strides[i]);
    fputs("t\x89NtR", f);
}

/* {"model": {}, "model_ema": {"n_averaged": ..., "PREFIXconv1.weight": ..., ...}} */
static void put_object(FILE *f, const struct flat *w, const char *prefix)
{
    char name[200], key[20];

    fputs("\x80\x02}(", f);
    put_text(f, "model");
    fputc('}', f);
    put_text(f, "model_ema");
    fputs("}(", f);
    for (int i = 0; i < w->nsegment; i++) {
        (void)snprintf(name, sizeof(name), "%s%s", prefix, w->segment[i].tensor->name);
        (void)snprintf(key, sizeof(key), "%d", i);
        put_text(f, name);
        put_tensor(f, &w->segment[i], key);
        if (i == 0) {
            put_text(f, "n_averaged");
            put_tensor(f, &w->segment[i], key);
        }
    }
    fputs("uu.\x80\x02](", f);
    for (int i = 0; i < w->nsegment; i++) {
        (void)snprintf(key, sizeof(key), "%d", i);
        put_text(f, key);
    }
    fputs("e.", f);
}

static void write_torch(struct run *r, const char *prefix)
{
    const struct flat *w = session_flat(&r->s);
    FILE *f = fopen(ckpt_path, "wb");

    assert_non_null(f);
    (void)run_weights(r);
    (void)fwrite("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 1, 15, f);
    fputs("\x80\x02M\xe9\x03.\x80\x02}", f);
    put_text(f, "little_endian");
    fputs("\x88s.", f);
    put_object(f, w, prefix);
    for (int i = 0; i < w->nsegment; i++) {
        const struct segment *s = &w->segment[i];

        (void)fwrite(&s->len, sizeof(s->len), 1, f);
        for (int64_t k = 0; k < s->len; k++)
            (void)fwrite(r->weights + s->offset + place_of(s->tensor, k), sizeof(float),
                         1, f);
    }
    assert_int_equal(fclose(f), 0);
}

static void test_torch(void **state)
{
    static const struct {
        const char *prefix, *said;
    } files[] = {
        {"module.", "tensors loaded from model_ema\n"},
        {"ema.", "tensors loaded from the EMA weights of model_ema\n"},
    };
    char *path = path_join(ckpt_dir, "log.txt"), *text;
    struct run a, b;
    const struct flat *f;

    (void)state;
    run_init(&a, NULL);
    run_init(&b, (const char *[]){"SEED", "7", NULL});
    run_steps(&a, 1);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        write_torch(&a, files[i].prefix);
        log_open(path);
        load_pretrained(&b);
        log_close();
        text = file_read(path, NULL);
        if (!strstr(text, files[i].said))
            fail_msg("'%s' is not in '%s'", files[i].said, text);
        free(text);
    }
    free(path);
    (void)run_weights(&a);
    (void)run_weights(&b);
    f = session_flat(&a.s);
    for (int64_t i = 0; i < f->weights_len; i++)
        if (!(b.weights[i] == a.weights[i]))
            fail_msg("weight %lld differs", (long long)i);
    run_release(&a);
    run_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pretrained, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_skip, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_told, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_torch, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_microsoft, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_22k, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_forgets, ckpt_setup, ckpt_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
