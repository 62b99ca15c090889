/*
 * Training and evaluation of ERFNet on small generated samples: the formulas of the
 * scores, exact counts at any batch size, class weights, the head without a gradient, and
 * that accumulation and checkpointing do not change results.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dataset/dataset.h"
#include "graph/flat.h"
#include "session/state.h"
#include "tests/dataset/segment_run.h"
#include "tests/ops/backends.h"
#include "tests/test.h"
#include "train/segmentation.h"

static double take_loss(struct run *r)
{
    struct metrics m = session_metrics(&r->s);

    session_set_metrics(&r->s, &(struct metrics){0});
    assert_int_equal(m.nonfinite, 0);
    return m.loss_sum / (double)m.count;
}

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * (1 + fabs(want))))
        fail_msg("%.17g, not %.17g", got, want);
}

static void assert_same_weights(struct run *a, struct run *b)
{
    assert_int_equal(run_bytes(a), run_bytes(b));
    assert_memory_equal(run_weights(a), run_weights(b), run_bytes(a));
}

/* Class 2 is absent, but predicted for two pixels. */
static void test_scores(void **state)
{
    static const int64_t matrix[] = {
        6, 2, 1, 0, /* nine of class 0 */
        1, 3, 1, 0, /* five of class 1 */
        0, 0, 0, 0, /* none */
        0, 3, 0, 3, /* six of class 3 */
    };
    const char *const name[] = {"road", "sky", "train", "void"};
    double iou[] = {6 / 10.0, 3 / 10.0, 0, 3 / 6.0};
    struct strbuf text = STRBUF_INIT;
    struct segmentation s;

    (void)state;
    segmentation_init(&s, matrix, 4);
    assert_int_equal(s.pixels, 20);
    assert_int_equal(s.absent, 1);
    assert_close(s.acc, 12 / 20.0);
    assert_close(s.class_acc, (6 / 9.0 + 3 / 5.0 + 3 / 6.0) / 3);
    assert_close(s.miou, (iou[0] + iou[1] + iou[3]) / 3);
    assert_close(s.fwiou, (9 * iou[0] + 5 * iou[1] + 6 * iou[3]) / 20);
    assert_close(s.mdice,
                 (12 / 16.0 + 6 / 13.0 + 6 / 9.0) / 3); /* 2 TP / (2 TP + FP + FN) */
    assert_close(s.class_result[1].acc, 3 / 5.0);
    assert_close(s.class_result[3].dice, 6 / 9.0);
    assert_true(isnan(s.class_result[2].iou) && isnan(s.class_result[2].acc));
    assert_int_equal(s.class_result[2].taken, 2);
    segmentation_add_absent(&text, &s, name);
    assert_string_equal(text.buf, "train");
    strbuf_reset(&text);
    segmentation_add_table(&text, &s, name);
    assert_non_null(strstr(text.buf, "train absent\n"));
    assert_non_null(strstr(text.buf, "road  0.6000 0.7500 0.6667   45.000 %\n"));
    segmentation_init(&s, (int64_t[16]){0}, 4);
    assert_true(isnan(s.miou) && isnan(s.mdice) && isnan(s.acc) && isnan(s.fwiou) &&
                isnan(s.class_acc));
    strbuf_release(&text);
}

static void check_learns(const char *const *more, int steps, double factor)
{
    double first, last;
    struct run r;

    segment_run(&r, more);
    segment_steps(&r, 4);
    first = take_loss(&r);
    segment_steps(&r, steps);
    (void)take_loss(&r);
    segment_steps(&r, 4);
    last = take_loss(&r);
    if (!(last < factor * first))
        fail_msg("the loss went from %g to %g", first, last);
    run_release(&r);
}

static void test_learns(void **state)
{
    (void)state;
    check_learns(NULL, 10, 0.92);
    check_learns((const char *[]){"MODEL.NAME", "erfnet_encoder", NULL}, 10, 0.96);
}

static void test_amp(void **state)
{
    (void)state;
    for (int level = 1; level <= 3; level += 2) {
        char text[] = {'O', (char)('0' + level), '\0'};

        check_learns((const char *[]){"AMP_ENABLE", "True", "AMP_OPT_LEVEL", text,
                                      "AMP.DTYPE", "bf16", NULL},
                     5, 0.97);
    }
}

/* Evaluates all samples but the last, which is padding. */
static void evaluate(struct run *r, int64_t batch)
{
    session_eval_begin(&r->s, false);
    for (int first = 0; first < IMAGES - 1; first += (int)batch) {
        void *pixels, *labels;

        segment_batch(r, first, IMAGES - 1, batch, &pixels, &labels);
        session_eval(&r->s, pixels, labels);
        free(pixels);
        free(labels);
    }
}

/* Counts with one batch size: padding and ignored pixels are in no cell of the matrix,
 * every other pixel is in exactly one. */
static void count_with(int64_t batch, int64_t *matrix, double *loss)
{
    char text[8];
    struct metrics m;
    struct run r;

    (void)snprintf(text, sizeof(text), "%d", (int)batch);
    segment_run(&r, (const char *[]){"DATA.VAL_BATCH_SIZE", text, "TRAIN.CLASS_WEIGHTS",
                                     "[0.25, 1, 7, 0.5]", NULL});
    segment_steps(&r, 2);
    evaluate(&r, batch);
    evaluate(&r, batch); /* nothing of the previous evaluation remains */
    session_eval_matrix(&r.s, SESSION_RAW, matrix);
    m = session_eval_metrics(&r.s, SESSION_RAW);
    assert_int_equal(m.count, (IMAGES - 1) * (W - 1) * H);
    assert_true(m.measured > 0);
    *loss = m.loss_sum / m.measured;
    run_release(&r);
}

/*
 * Row sums (pixels per label) must agree on every device. On the reference device each
 * cell must agree; elsewhere another batch size may use another kernel, which may swap
 * two nearly equal logits.
 */
static void assert_same_matrix(const int64_t *got, const int64_t *want)
{
    int64_t other = 0;

    for (int y = 0; y < K; y++) {
        int64_t row = 0;

        for (int p = 0; p < K; p++) {
            row += got[y * K + p] - want[y * K + p];
            other += llabs(got[y * K + p] - want[y * K + p]);
        }
        assert_int_equal(row, 0);
    }
    assert_true(other <= (strcmp(test_device(), "ref") ? 128 : 0));
}

static void test_any_batch(void **state)
{
    static const int64_t batch[] = {1, 3, 8};
    int64_t want[K * K], got[K * K], sum = 0, right = 0;
    double want_loss, loss;

    (void)state;
    count_with(2, want, &want_loss);
    for (int i = 0; i < K * K; i++)
        sum += want[i], right += i % (K + 1) ? 0 : want[i];
    assert_int_equal(sum, (IMAGES - 1) * (W - 1) * H);
    assert_true(right > 0 && right < sum);
    for (int i = 0; i < 3; i++) {
        count_with(batch[i], got, &loss);
        assert_same_matrix(got, want);
        if (!(fabs(loss - want_loss) <= 1e-4 * want_loss))
            fail_msg("batch %d: loss %g, not %g", (int)batch[i], loss, want_loss);
    }
}

/* Neither Adam nor weight decay changes the head that only the encoder stage uses. */
static void test_unused_head(void **state)
{
    const struct segment *head, *used;
    float *before, *ema;
    struct run r;

    (void)state;
    segment_run(
        &r, (const char *[]){"TRAIN.EMA.ENABLE", "True", "TRAIN.EMA.DECAY", "0.5", NULL});
    head = run_segment(&r, "encoder.output_conv.weight");
    used = run_segment(&r, "decoder.output_conv.weight");
    before = xmalloc(run_bytes(&r));
    ema = xmalloc(run_bytes(&r));
    session_get(&r.s, MEMORY_WEIGHTS, before);
    segment_steps(&r, 3);
    session_get(&r.s, MEMORY_EMA, ema);
    (void)run_weights(&r);
    assert_true(head->len == K * 128 && before[head->offset] != 0);
    assert_memory_equal(r.weights + head->offset, before + head->offset,
                        (size_t)head->len * sizeof(float));
    assert_memory_equal(ema + head->offset, before + head->offset,
                        (size_t)head->len * sizeof(float));
    assert_memory_not_equal(r.weights + used->offset, before + used->offset,
                            (size_t)used->len * sizeof(float));
    free(before);
    free(ema);
    run_release(&r);
}

/* Equal weights of all classes change nothing; another weight of one class does. */
static void test_class_weights(void **state)
{
    struct run a, b, c;

    (void)state;
    segment_run(&a, NULL);
    segment_run(&b, (const char *[]){"TRAIN.CLASS_WEIGHTS", "[2, 2, 2, 2]", NULL});
    segment_run(&c, (const char *[]){"TRAIN.CLASS_WEIGHTS", "[2, 2, 0, 2]", NULL});
    segment_steps(&a, 2);
    segment_steps(&b, 2);
    segment_steps(&c, 2);
    assert_same_weights(&a, &b);
    assert_memory_not_equal(a.weights, run_weights(&c), run_bytes(&a));
    run_release(&a);
    run_release(&b);
    run_release(&c);
}

/* Recomputing the blocks in backward changes no bit; dropout repeats its choice. */
static void test_checkpointing(void **state)
{
    struct run a, b;

    (void)state;
    segment_run(&a, NULL);
    segment_run(&b, (const char *[]){"TRAIN.USE_CHECKPOINT", "True", NULL});
    assert_true(b.s.build[SESSION_TRAIN].recomputed > 50);
    segment_steps(&a, 3);
    segment_steps(&b, 3);
    assert_same_weights(&a, &b);
    run_release(&a);
    run_release(&b);
}

/* Two batches of 2 are one update, and 4 micro-batches are 2 updates. */
static void test_accumulation(void **state)
{
    struct run r;

    (void)state;
    segment_run(&r, (const char *[]){"TRAIN.ACCUMULATION_STEPS", "2", NULL});
    segment_steps(&r, 4);
    assert_int_equal(session_control(&r.s).step, 2);
    assert_int_equal(session_metrics(&r.s).count, 4 * 2 * (W - 1) * H);
    run_release(&r);
    check_learns(
        (const char *[]){"TRAIN.ACCUMULATION_STEPS", "2", "TRAIN.BASE_LR", "0.004", NULL},
        6, 0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores),        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_amp),           cmocka_unit_test(test_any_batch),
        cmocka_unit_test(test_unused_head),   cmocka_unit_test(test_class_weights),
        cmocka_unit_test(test_checkpointing), cmocka_unit_test(test_accumulation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
