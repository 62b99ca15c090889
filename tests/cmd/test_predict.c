/*
 * trainc predict for segmentation: which pixel of the image gets which label of the
 * model. The model's weights are chosen so that its labels are known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/file.h"
#include "base/log.h"
#include "graph/flat.h"
#include "image/label.h"
#include "io/safetensors.h"
#include "io/written.h"
#include "tests/child.h"
#include "tests/cmd/verb_run.h"
#include "tests/dataset/segment_run.h"
#include "tests/test.h"
#include "train/statedict.h"

static char dir[] = "/tmp/trainc-predict-XXXXXX", *weights, *image;

/*
 * All weights are zero except the last block's bias, which makes every value 1, and the
 * last layer, where each of the 2 x 2 pixels made from one has its own class.
 */
static void fill(const char *name, const struct statedict_shape *shape, float *w)
{
    if (!strcmp(name, "decoder.layers.5.bn2.bias"))
        for (int i = 0; i < shape->dims[0]; i++)
            w[i] = 1;
    if (!strcmp(name, "decoder.output_conv.weight"))
        for (int i = 0; i < 4; i++)
            w[i * 4 + i] = 1; /* [in, class, y, x], of the first input only */
}

static int label_of_net(int x, int y)
{
    return y % 2 * 2 + x % 2;
}

static int setup(void **state)
{
    static const char *const keys[] = {"MODEL.NUM_CLASSES", "19", NULL};
    struct safetensors_writer w = {0};
    struct strbuf why = STRBUF_INIT;
    const struct flat *f;
    struct run r;
    float **data;

    (void)state;
    log_level_set(LOG_ERROR);
    assert_non_null(mkdtemp(dir));
    weights = path_join(dir, "weights.safetensors");
    image = path_join(dir, "image.ppm");
    segment_run(&r, keys);
    f = session_flat(&r.s);
    data = xcalloc((size_t)f->nsegment, sizeof(*data));
    for (int i = 0; i < f->nsegment; i++) {
        const struct tensor *t = f->segment[i].tensor;
        struct statedict_shape shape = statedict_shape(t);

        data[i] = xcalloc((size_t)f->segment[i].len, sizeof(float));
        fill(t->name, &shape, data[i]);
        if (!strstr(t->name, "num_batches"))
            safetensors_writer_add(&w, t->name, SAFETENSORS_F32, shape.ndim, shape.dims,
                                   data[i]);
    }
    assert_int_equal(safetensors_writer_commit(&w, weights, &why), 0);
    safetensors_writer_release(&w);
    for (int i = 0; i < f->nsegment; i++)
        free(data[i]);
    free(data);
    run_release(&r);
    return 0;
}

static int teardown(void **state)
{
    static const char *const name[] = {"weights.safetensors", "image.ppm",
                                       "image_labels.png", "image_overlay.png"};

    (void)state;
    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        char *path = path_join(dir, name[i]);

        (void)unlink(path);
        free(path);
    }
    free(weights);
    free(image);
    return rmdir(dir);
}

static void write_image(int w, int h)
{
    FILE *f = fopen(image, "wb");

    assert_non_null(f);
    (void)fprintf(f, "P6 %d %d 255\n", w, h);
    for (int i = 0; i < 3 * w * h; i++)
        (void)fputc(i % 251, f);
    assert_int_equal(fclose(f), 0);
}

/* Returns the image's label map as predict writes it; free with label_reader_release. */
static struct label_reader predict(const char *flag)
{
    struct label_reader r = {0};
    struct strbuf why = STRBUF_INIT;
    char *data, *path;
    size_t len;

    assert_int_equal(RUN(&cmd_predict, "--cfg", "configs/smoke/segment.yaml", "--device",
                         "ref", "--num-classes", "19", "--weights", weights, "--out", dir,
                         image, "--opts", "DATA.IMG_WIDTH=24", "DATA.IMG_HEIGHT=16",
                         "DATA.CLASS_SET=cityscapes19", flag),
                     0);
    path = path_join(dir, "image_labels.png");
    data = file_read(path, &len);
    assert_non_null(data);
    assert_int_equal(label_read(&r, data, len, NULL, &why), 0);
    free(data);
    free(path);
    return r;
}

/* The model sees 24 x 16 pixels with the image, fw x fh, in the center. */
static void test_pixels(void **state)
{
    static const struct {
        int w, h, fw, fh;
    } rows[] = {{24, 16, 24, 16}, {36, 15, 24, 10}, {10, 8, 20, 16}, {25, 40, 10, 16}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int w = rows[i].w, h = rows[i].h;
        struct label_reader r;

        write_image(w, h);
        r = predict(NULL);
        assert_int_equal(r.w, w);
        assert_int_equal(r.h, h);
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                int nx = (2 * x + 1) * rows[i].fw / (2 * w) + (W - rows[i].fw) / 2;
                int ny = (2 * y + 1) * rows[i].fh / (2 * h) + (H - rows[i].fh) / 2;

                if (r.pixel[y * w + x] != label_of_net(nx, ny))
                    fail_msg("%d x %d, (%d, %d): %d", w, h, x, y, r.pixel[y * w + x]);
            }
        label_reader_release(&r);
    }
}

/* road, sidewalk, building, wall */
static void test_server_ids(void **state)
{
    static const int id[] = {7, 8, 11, 12};
    struct label_reader r;

    (void)state;
    write_image(W, H);
    r = predict("--server-ids");
    for (int i = 0; i < W * H; i++)
        assert_int_equal(r.pixel[i], id[label_of_net(i % W, i / W)]);
    label_reader_release(&r);
}

struct place {
    const char *out, *image;
};

static void predict_to(void *arg)
{
    const struct place *p = arg;
    int code = RUN(&cmd_predict, "--cfg", "configs/smoke/segment.yaml", "--device", "ref",
                   "--num-classes", "19", "--weights", weights, "--out", p->out, p->image,
                   "--opts", "DATA.IMG_WIDTH=24", "DATA.IMG_HEIGHT=16",
                   "DATA.CLASS_SET=cityscapes19");

    if (code)
        exit(code);
}

static void predict_again(void)
{
    struct label_reader r = predict(NULL);

    label_reader_release(&r);
    r = predict(NULL);
    label_reader_release(&r);
}

/* Other programs' files are kept, and predictions do not overwrite the input. */
static void test_overwrites_nothing(void **state)
{
    char *labels = path_join(dir, "image_labels.png"), *text, *data;
    size_t len;

    (void)state;
    write_image(W, H);
    predict_again(); /* over the input */
    data = file_read(labels, &len);
    assert_true(written_is(labels, WRITTEN_IMAGE));
    assert_int_equal(atomic_write_file(labels, "mine", 4), 0);
    check_leaves(predict_to, &(struct place){dir, image}, 2, "image_labels.png");
    text = file_read(labels, NULL);
    assert_string_equal(text, "mine");
    free(text);
    assert_int_equal(atomic_write_file(labels, data, len), 0);
    free(data);
    free(labels);
}

/* Output files of an earlier predict in a folder are not input images. */
static void test_own_answers(void **state)
{
    char *again = path_join(dir, "image_labels_labels.png");

    (void)state;
    write_image(W, H);
    predict_again();
    predict_to(&(struct place){dir, dir});
    assert_false(file_exists(again));
    free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_server_ids),
        cmocka_unit_test(test_overwrites_nothing),
        cmocka_unit_test(test_own_answers),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
