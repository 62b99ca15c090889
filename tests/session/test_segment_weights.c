/* Weight files of segmentation models: their class weights, ERFNet's two stages, and what
 * published weights omit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "graph/flat.h"
#include "io/safetensors.h"
#include "tests/child.h"
#include "tests/dataset/segment_run.h"
#include "tests/test.h"
#include "tests/train/checkpoint_run.h"
#include "train/checkpoint.h"
#include "train/class_weights.h"
#include "train/pretrained.h"
#include "train/statedict.h"

static char path[64];

static void read_class_weights(void *arg)
{
    float weight[4];

    (void)class_weights(arg, NULL, weight);
}

/* Uses the class weights of a checkpoint if possible; otherwise labels are needed, which
 * are absent here. */
static void test_saved_class_weights(void **state)
{
    static const char *const text[] = {"[2, 2, 0, 2]", "[2, 2, -1, 2]", "[2, 2, 1e99, 2]",
                                       "[2, 2, 2]", "{}"};
    struct run r;

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/trainc_segment_%d.safetensors",
                   (int)getpid());
    segment_run(&r, NULL);
    config_set(&r.cfg, "TRAIN.CLASS_WEIGHTS", "auto");
    config_set(&r.cfg, "DATA.DATASET", "list");
    config_set(&r.cfg, "MODEL.PRETRAINED", path);
    for (int i = 0; i < 5; i++) {
        struct safetensors_writer w = {0};
        struct strbuf why = STRBUF_INIT;

        safetensors_writer_meta(&w, "class_weights", text[i]);
        assert_int_equal(safetensors_writer_commit(&w, path, &why), 0);
        safetensors_writer_release(&w);
        check_leaves(read_class_weights, &r.cfg, i ? EXIT_USAGE : EXIT_OK, "");
    }
    config_set(&r.cfg, "DATA.DATA_PATH", "/tmp/no/such/folder");
    check_leaves(read_class_weights, &r.cfg, EXIT_OK,
                 "using weight 1 for every class in the loss: the weights file has no "
                 "class weights");
    config_set(&r.cfg, "MODEL.PRETRAINED", "");
    config_set(&r.cfg, "MODEL.RESUME", "/tmp/no/such/file.pth");
    check_dies(read_class_weights, &r.cfg, "MODEL.RESUME: ");
    (void)unlink(path);
    run_release(&r);
}

static void load_pretrained(void *arg)
{
    pretrained_load(&((struct run *)arg)->s, path);
}

/* The full stage starts from the encoder stage's checkpoint if configured so. */
static void test_encoder_first(void **state)
{
    static const char *const only[] = {"MODEL.PRETRAINED_SKIP", "['decoder.*']", NULL};
    const struct run_state fresh = {.epoch = 1};
    const struct class_list none = {NULL, 0};
    struct strbuf why = STRBUF_INIT;
    struct run encoder, full, strict;
    const struct flat *f;
    int loaded = 0, kept = 0;
    float *before;

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/trainc_segment_%d.safetensors",
                   (int)getpid());
    segment_run(&encoder, (const char *[]){"MODEL.NAME", "erfnet_encoder", NULL});
    segment_steps(&encoder, 2);
    ckpt_store(path, &encoder.s, &fresh, &none, "");
    segment_run(&strict, NULL);
    check_dies(load_pretrained, &strict, "decoder.layers.0.conv.weight: not in the file");
    check_dies(load_pretrained, &strict, "MODEL.PRETRAINED_SKIP");
    segment_run(&full, only);
    before = xmalloc(run_bytes(&full));
    memcpy(before, run_weights(&full), run_bytes(&full));
    load_pretrained(&full);
    (void)run_weights(&full);
    (void)run_weights(&encoder);
    f = session_flat(&full.s);
    for (int i = 0; i < f->nsegment; i++) {
        const struct segment *s = &f->segment[i];
        bool decoder = !strncmp(s->tensor->name, "decoder.", 8);
        const float *want =
            decoder ? before + s->offset
                    : encoder.weights + run_segment(&encoder, s->tensor->name)->offset;

        assert_memory_equal(full.weights + s->offset, want,
                            (size_t)s->len * sizeof(float));
        *(decoder ? &kept : &loaded) += 1;
    }
    assert_true(loaded > 150 && kept > 40);
    (void)unlink(path);
    free(before);
    run_release(&encoder);
    run_release(&strict);
    run_release(&full);
    strbuf_release(&why);
}

/* Writes a state dict of zeros with all tensors of the model but these. */
static void write_zeros(const struct run *r, const char *leave_out)
{
    const struct flat *f = session_flat(&r->s);
    struct safetensors_writer w = {0};
    struct strbuf why = STRBUF_INIT;
    float *zeros = xcalloc((size_t)f->weights_len, sizeof(*zeros));

    for (int i = 0; i < f->nsegment; i++) {
        const struct tensor *t = f->segment[i].tensor;
        struct statedict_shape shape = statedict_shape(t);

        if (strncmp(t->name, leave_out, strlen(leave_out)) != 0 &&
            !strstr(t->name, "num_batches"))
            safetensors_writer_add(&w, t->name, SAFETENSORS_F32, shape.ndim, shape.dims,
                                   zeros);
    }
    assert_int_equal(safetensors_writer_commit(&w, path, &why), 0);
    safetensors_writer_release(&w);
    free(zeros);
}

static void load_whole(void *arg)
{
    pretrained_load_all(&((struct run *)arg)->s, path, "the test", NULL);
}

/* Published weights may omit the encoder's classifier, which the whole net does not
 * use. */
static void test_unread_head(void **state)
{
    struct run r;
    const struct segment *head;
    float before;

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/trainc_segment_%d.safetensors",
                   (int)getpid());
    segment_run(&r, NULL);
    head = run_segment(&r, "encoder.output_conv.weight");
    write_zeros(&r, "decoder.output_conv.bias");
    check_dies(load_whole, &r, "decoder.output_conv.bias: not in the file");
    write_zeros(&r, "encoder.output_conv");
    before = run_weights(&r)[head->offset];
    assert_true(before != 0);
    load_whole(&r);
    (void)run_weights(&r);
    assert_true(r.weights[head->offset] == before);
    assert_true(r.weights[run_segment(&r, "encoder.initial_block.conv.weight")->offset] ==
                0);
    (void)unlink(path);
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved_class_weights),
        cmocka_unit_test(test_encoder_first),
        cmocka_unit_test(test_unread_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
