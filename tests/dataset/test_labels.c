/* Labels of every kind in other programs' containers: scripts/golden/labels.py. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "dataset/table.h"
#include "tests/child.h"
#include "tests/dataset/golden_containers.h"
#include "tests/make_folder.h"
#include "tests/test.h"

static const struct {
    const char *folder, *storage;
    const char *labels; /* classes by name, or NULL if it cannot be opened */
    const char *why;    /* expected message, or NULL */
} rows[] = {
    {"tf_int", "tfrecord", "1 0 2 1 ", NULL},
    {"tf_float", "tfrecord", "1 0 2 1 ", NULL},
    {"tf_one_hot", "tfrecord", "1 0 2 1 ", NULL},
    {"tf_one_hot_float", "tfrecord", "1 0 2 1 ", NULL},
    {"tf_digits", "tfrecord", "1 0 2 1 ", NULL},
    {"tf_text", "tfrecord", "dog cat eel dog ", NULL},
    {"tf_class_text", "tfrecord", "dog cat eel dog ", NULL},
    {"tf_soft", "tfrecord", NULL,
     "feature 'label' has 2 values of float: 0.25, 0.75: expected a class"},
    {"tf_two", "tfrecord", NULL,
     "feature 'label' has 2 values of bytes: expected a class"},
    {"tf_none", "tfrecord", NULL,
     "has no class (4 of 4 samples have none): expected a feature 'image/class/label' or "
     "'label', found 'image', 'height'"},
    {"h5_one_hot", "hdf5", "1 0 2 1 ", NULL},
    {"h5_one_hot_deep", "hdf5", "1 0 2 1 ", NULL},
    {"h5_booleans", "hdf5", "1 0 2 1 ", NULL},
    {"h5_bytes", "hdf5", "dog cat eel dog ", NULL},
    {"h5_texts", "hdf5", "dog cat eel dog ", NULL},
    {"h5_gzip", "hdf5", "1 0 2 1 ", NULL},
    {"h5_soft", "hdf5", NULL, "its label has 3 values that are not one-hot"},
    {"h5_lzf", "hdf5", NULL,
     "'images' is compressed with filter 32000 (lzf), which this libhdf5 lacks"},
    {"h5_group", "hdf5", NULL, "'images' is a group: expected a dataset"},
    {"rec_faces", "recordio", "1 0 2 1 ",
     "skipping records without an image (5), such as 'byte 0'"},
};

struct opening {
    const char *storage;
    struct dataset_source source;
    char text[256]; /* expected labels */
};

static void open_it(void *arg)
{
    struct opening *o = arg;
    struct dataset *d = dataset_open(o->storage, &o->source);
    struct strbuf text = STRBUF_INIT;

    for (int64_t i = 0; i < d->n; i++)
        strbuf_addf(&text, "%s ", d->class_name[dataset_label(d, i)]);
    (void)snprintf(o->text, sizeof(o->text), "%s", text.buf);
    strbuf_release(&text);
    dataset_close(d);
}

static void labels_are_read_or_told(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *name = xasprintf("../labels/%s", rows[r].folder);
        char *dir = golden_copy(name);
        struct opening o = {
            .storage = rows[r].storage,
            .source = {.path = dir, .split = "train", .labels = {.classes = 3}}};

        print_message("%s\n", rows[r].folder);
        if (!rows[r].labels) {
            check_dies(open_it, &o, rows[r].why);
        } else {
            if (rows[r].why)
                check_leaves(open_it, &o, 0, rows[r].why);
            open_it(&o);
            assert_string_equal(o.text, rows[r].labels);
        }
        remove_temp_dir(dir);
        free(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(labels_are_read_or_told)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
