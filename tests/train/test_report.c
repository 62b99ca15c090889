/* Reports of evaluations, compared with numbers worked out by hand. */
#include "train/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "dataset/files.h"
#include "tests/test.h"

static char dir[] = "/tmp/trainc-report-XXXXXX";

static const char *const names[] = {"cat", "dog", "a, b"};
static const struct class_list classes = {names, 3};
static const char *const path[] = {"0.png", "1.png", "2.png", "3.png", "4.png"};

/* Adds an image whose answer has probability p; the other two classes share the rest. */
static void add(struct report *r, int64_t sample, int label, int answer, double p)
{
    float z[3];

    for (int c = 0; c < 3; c++)
        z[c] = (float)log(c == answer ? p : (1 - p) / 2);
    report_add(r, sample, label, z);
}

static void fill(struct report *r, struct dataset *d)
{
    report_init(r, d, &classes);
    r->model = "net";
    r->weights = "EMA";
    add(r, 0, 0, 0, 0.9);
    add(r, 1, 0, 1, 0.78);
    add(r, 2, 1, 1, 0.9);
    add(r, 3, 1, 1, 0.5);
    add(r, 4, 0, 1, 0.98);
}

/*
 * Bins of width 1/15: 0.5 is in bin 8 (7/15 < 0.5), 0.78 in bin 12, 0.9 in bin 14, 0.98
 * in bin 15. |1 - 0.5| + |0 - 0.78| + |2 - 1.8| + |0 - 0.98| = 2.46, of 5 images.
 */
static void test_calibration(void **state)
{
    struct dataset *d = dataset_of_files(path, 5);
    struct report_bin bin[REPORT_BINS];
    struct report r;

    (void)state;
    fill(&r, d);
    assert_true(fabs(report_calibration(&r, bin) - 2.46 / 5) < 1e-6);
    assert_int_equal(bin[7].n, 1);
    assert_int_equal(bin[11].n, 1);
    assert_int_equal(bin[13].n, 2);
    assert_int_equal(bin[13].right, 2);
    assert_true(fabs(bin[13].confidence - 0.9) < 1e-6);
    assert_int_equal(bin[14].n, 1);
    report_release(&r);
    dataset_close(d);
}

static void check_file(const char *name, const char *want)
{
    char *full = path_join(dir, name), *text = file_read(full, &(size_t){0});

    assert_non_null(text);
    assert_string_equal(text, want);
    free(text);
    free(full);
}

static void test_files(void **state)
{
    static const char *const files[] = {"classes.csv", "confusion.csv", "confusion.png",
                                        "pairs.csv",   "report.json",   "worst.csv"};
    struct dataset *d = dataset_of_files(path, 5);
    struct report r;

    (void)state;
    fill(&r, d);
    assert_null(report_refuse(dir));
    report_write(&r, dir);
    check_file("classes.csv", "class,images,right,recall,precision,f1,iou\n"
                              "cat,3,1,0.333333,1.000000,0.500000,0.333333\n"
                              "dog,2,2,1.000000,0.500000,0.666667,0.500000\n"
                              "\"a, b\",0,0,,,,\n");
    check_file("confusion.csv", "label,cat,dog,\"a, b\"\ncat,1,2,0\ndog,0,2,0\n"
                                "\"a, b\",0,0,0\n");
    check_file("pairs.csv", "label,answer,images,share_of_label\ncat,dog,2,0.666667\n");
    check_file("worst.csv",
               "image,label,answer,loss,probability_of_label,probability_of_answer\n"
               "4.png,cat,dog,4.60517,0.01,0.98\n1.png,cat,dog,2.20727,0.11,0.78\n"
               "3.png,dog,dog,0.693147,0.5,0.5\n0.png,cat,cat,0.105361,0.9,0.9\n"
               "2.png,dog,dog,0.105361,0.9,0.9\n");
    assert_null(report_refuse(dir)); /* allowed again */
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *full = path_join(dir, files[i]);

        if (i == 4) /* without the mark file the folder is not trainc's */
            assert_int_equal(unlink(full), 0);
        if (i == 4)
            assert_non_null(report_refuse(dir));
        else
            assert_int_equal(unlink(full), 0);
        free(full);
    }
    report_release(&r);
    dataset_close(d);
}

/* From a pixel confusion matrix: neither calibration nor images. */
static void test_matrix(void **state)
{
    static const int64_t matrix[] = {5, 1, 0, 2, 7, 0, 0, 3, 0};
    struct report_bin bin[REPORT_BINS];
    struct report r;

    (void)state;
    report_init(&r, NULL, &classes);
    report_take_matrix(&r, matrix);
    assert_int_equal(r.class_counts[0].n, 6);
    assert_int_equal(r.class_counts[1].taken, 11);
    assert_int_equal(r.class_counts[2].right, 0);
    assert_true(isnan(report_calibration(&r, bin)));
    assert_memory_equal(r.matrix, matrix, sizeof(matrix));
    report_release(&r);
}

static int setup(void **state)
{
    (void)state;
    log_level_set(LOG_ERROR);
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calibration),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_matrix),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
