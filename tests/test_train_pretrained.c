/* MODEL.PRETRAINED: state dicts as others write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "checkpoint_run.h"
#include "child.h"
#include "graph/flat.h"
#include "io/safetensors.h"
#include "train/pretrained.h"

static void load_pretrained(void *arg)
{
    pretrained_load(&((struct run *)arg)->s, ckpt_path);
}

/* A state dict of `r` as others write it: bf16, a prefix, without `leave_out`. */
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
        bool conv = t->layout == LAYOUT_IMAGE;

        for (int64_t k = 0; k < s->len; k++) {
            int64_t in = conv ? t->dim[1] : 1, area = conv ? t->dim[2] * t->dim[3] : 1;
            int64_t o = k / (in * area), c = k / area % in, p = k % area;
            int64_t at = conv ? (o * area + p) * in + c : k;

            half[s->offset + k] = bf16_from_float(r->weights[s->offset + at]);
        }
        if (strcmp(t->name, leave_out) != 0 && !strstr(t->name, "num_batches"))
            safetensors_writer_add(&w, name, SAFETENSORS_BF16, t->ndim, t->dim,
                                   half + s->offset);
        free(name);
    }
    assert_int_equal(safetensors_writer_commit(&w, ckpt_path, &why), 0);
    safetensors_writer_release(&w);
    free(half);
}

static void test_pretrained(void **state)
{
    struct run a, b, c;
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

    /* Another number of classes: the classifier stays, all else is loaded. */
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
    check_dies(load_pretrained, &b, "does not fit resnet20: 1 of its tensors");
    run_release(&a);
    run_release(&b);
    run_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pretrained, ckpt_setup, ckpt_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
