/*
 * Feeds the fuzzers' findings (tests/fuzz/corpus, scripts/fuzz.sh) to each reader of
 * foreign files again, in every build, including those with sanitizers. The program of
 * tests/fuzz for a reader is linked in as fuzz_NAME (Makefile). If one fails, the last
 * line names its input.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "tests/child.h"
#include "tests/test.h"

#define CORPUS "tests/fuzz/corpus"
#define READERS(ROW)                                                                     \
    ROW(cache)                                                                           \
    ROW(decoded)                                                                         \
    ROW(histogram)                                                                       \
    ROW(image) ROW(label) ROW(lmdb) ROW(pt2) ROW(recordio) ROW(sample_index) ROW(tar)    \
        ROW(text_table) ROW(tfrecord) ROW(weights) ROW(zip)                              \
            ROW(list) /* last: its child uses the others' folder */
#define DECLARE(name) int fuzz_##name(const uint8_t *data, size_t size);
#define ROW(name)     {#name, fuzz_##name},

READERS(DECLARE)

struct reader {
    const char *name;
    int (*feed)(const uint8_t *data, size_t size);
};

static const struct reader readers[] = {READERS(ROW)};
enum { COUNT = sizeof(readers) / sizeof(readers[0]) };

static void feed_all(void *arg)
{
    const struct reader *r = arg;
    char *dir = path_join(CORPUS, r->name);
    int n;
    char **name = dir_list(dir, &n);

    for (int i = 0; i < n; i++) {
        size_t len;
        char *path = path_join(dir, name[i]), *data = file_read(path, &len);

        (void)fprintf(stderr, "%s\n", path);
        (void)r->feed((const uint8_t *)data, len);
        free(data);
        free(path);
    }
    (void)fprintf(stderr, "%s: %d inputs\n", dir, n);
    dir_list_free(name, n);
    free(dir);
}

/* Lists leave the call when they reject an input and leak its memory, so they run in a
 * child. */
static void readers_take_anything(void **state)
{
    (void)state;
    log_mute(true);
    for (int i = 0; i < COUNT - 1; i++)
        feed_all((void *)(uintptr_t)&readers[i]);
    check_leaves(feed_all, (void *)(uintptr_t)&readers[COUNT - 1], 0, "list: ");
}

/* Each reader with a corpus has a row here. */
static void each_corpus_has_a_row(void **state)
{
    int n;
    char **name = dir_list(CORPUS, &n);

    (void)state;
    assert_int_equal(n, COUNT);
    for (int i = 0; i < COUNT; i++) {
        char *dir = path_join(CORPUS, readers[i].name);
        int files;
        char **file = dir_list(dir, &files);

        dir_list_free(file, files);
        assert_true(files > 0);
        free(dir);
    }
    dir_list_free(name, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_corpus_has_a_row),
        cmocka_unit_test(readers_take_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
