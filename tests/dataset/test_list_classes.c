/* Lists of files with one class each: supported forms, and errors. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/table.h"
#include "tests/child.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

/* Three images in images/, and one in train/. Contents are one letter. */
static char *make_data(const char *list, const char *text, const char *classes)
{
    char *dir = make_temp_dir();

    make_file(dir, "images/a.jpg", "a", 1);
    make_file(dir, "images/b b.jpg", "b", 1);
    make_file(dir, "images/c.jpg", "c", 1);
    make_file(dir, "train/d.jpg", "d", 1);
    make_file(dir, list, text, strlen(text));
    if (classes)
        make_file(dir, "classes.txt", classes, strlen(classes));
    return dir;
}

static struct dataset *open_list(const char *dir)
{
    struct dataset_source s = pack_source(dir, false);

    return dataset_open("list", &s);
}

/* "a1 c0 ?2": content and label of each sample. */
static void show(const struct dataset *d, struct strbuf *out)
{
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;

    for (int64_t i = 0; i < d->n; i++) {
        bool is = dataset_read(d, i, 10, &bytes, &why) == 0;

        strbuf_addf(out, "%s%c%d", i ? " " : "", is ? (char)bytes.data[0] : '?',
                    dataset_label(d, i));
        strbuf_reset(&why);
    }
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
}

static void lists_are_read(void **state)
{
    static const char list[] = "train.txt";
    static const char map[] = "ILSVRC2011fall_whole_map_train.txt";
    static const struct {
        const char *list, *text, *classes, *want, *names;
    } rows[] = {
        {list, "# no image\n\nimages/c.jpg 2\r\n  images/a.jpg   0 \n", NULL, "c2 a0",
         "0 1 2"},
        {list, "images/b b.jpg 1\nimages/gone.jpg 0\n", NULL, "b1 ?0", "0 1 2"},
        {list, "images/b b.jpg\t1\tmore columns\nimages/a.jpg\t0", NULL, "b1 a0",
         "0 1 2"},
        {list, "images/a.jpg 1\nimages/c.jpg 0\n", "cat\ndog\n", "a1 c0", "cat dog"},
        {list, "images/a.jpg dog\nimages/c.jpg cat\nimages/a.jpg dog\n", NULL, "a1 c0 a1",
         "cat dog"},
        {list, "images/a.jpg dog\nimages/c.jpg cat\n", "emu\ndog\ncat\n", "a1 c2",
         "emu dog cat"},
        {list, "d.jpg 0\nd.jpg 1\n", NULL, "d0 d1", "0 1 2"}, /* in train/ */
        {map,
         " [[\"images/a.jpg\", 2, 7, [\"x\"]],\n [\"images/b b.jpg\", 0], "
         "[\"images/c.jpg\",1]]\n",
         NULL, "a2 b0 c1", "0 1 2"},
        {map, "images/a.jpg 2\n", NULL, "a2", "0 1 2"},
        {"train.json", "[[\"images/a.jpg\",\"x\"],[\"images/c.jpg\",\"b\"]]", NULL,
         "a1 c0", "b x"},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *dir = make_data(rows[r].list, rows[r].text, rows[r].classes);
        struct strbuf got = STRBUF_INIT, names = STRBUF_INIT;
        struct dataset *d = open_list(dir);

        show(d, &got);
        assert_string_equal(got.buf, rows[r].want);
        for (int c = 0; c < d->nclass; c++)
            strbuf_addf(&names, "%s%s", c ? " " : "", d->class_name[c]);
        assert_string_equal(names.buf, rows[r].names);
        dataset_close(d);
        strbuf_release(&got);
        strbuf_release(&names);
        remove_temp_dir(dir);
    }
}

static void open_in_child(void *dir)
{
    dataset_close(open_list(dir));
}

static void mistakes_are_told(void **state)
{
    static const struct {
        const char *list, *text, *classes, *why;
    } rows[] = {
        {"val.txt", "x", NULL, "': expected train.txt, ILSVRC2011fall_whole"},
        {"train.txt", "# none\n", NULL, "train.txt' names no images"},
        {"train.txt", "images/a.jpg 0\nimages/a.jpg\n", NULL,
         "train.txt:2: expected 'image class', not 'images/a.jpg'"},
        {"train.txt", "image,class\nimages/a.jpg,cat\n", NULL,
         "train.txt:1: this looks like CSV: 'image,class'; expected 'image class' "
         "separated by a space or tab (for .csv tables use --dataset csv)"},
        {"train.txt", "images/a.jpg 0\nimages/a.jpg cat\n", NULL,
         "train.txt:2: the class is a name, and that of the first image a number"},
        {"train.txt", "images/a.jpg 0\nimages/a.jpg -1\n", NULL,
         "train.txt:2: the class"},
        {"train.txt", "images/a.jpg 3\n", NULL,
         "train.txt:1: class index 3 is out of range: the data set has 3 classes"},
        {"train.txt", "images/a.jpg cat\n", "dog\n", "train.txt:1: class 'c"},
        {"train.txt", "images/a.jpg images/c.png\n", NULL,
         "expected a class, but 'images/c.png' is a label map"},
        {"train.txt", "x/a.jpg 0\nx/b.jpg 0\n", NULL, "train.txt:1: file '"},
        {"train.json", "[[\"images/a.jpg\", 0], [\"images/a.jpg\"]]", NULL,
         "train.json: element 2 is not [image, class]"},
        {"train.json", "[[\"images/a.jpg\", -1]]", NULL, "element 1 is no"},
        {"train.json", "[[\"images/a.jpg\", 0], [\"ima", NULL, "train.json: element 2: "},
        {"train.json", "[[\"images/a.jpg\", 0],", NULL, "truncated after element 1"},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *dir = make_data(rows[r].list, rows[r].text, rows[r].classes);

        check_dies(open_in_child, dir, rows[r].why);
        remove_temp_dir(dir);
    }
}

static void classes_may_count_from_one(void **state)
{
    char *dir = make_data("train.txt", "images/c.jpg 1\nimages/a.jpg 3\n", NULL);
    struct dataset_source s = pack_source(dir, false);
    struct opening o = {"list", s};
    struct strbuf got = STRBUF_INIT;
    struct dataset *d;

    (void)state;
    check_dies(open_and_close, &o,
               "train.txt:2: class index 3 is out of range: the data set has 3 classes, "
               "counted from 0 (set the number in classes.txt or MODEL.NUM_CLASSES; set "
               "DATA.FIRST_CLASS 1 if classes count from 1)");
    o.source.labels.first = 1;
    d = dataset_open("list", &o.source);
    show(d, &got);
    assert_string_equal(got.buf, "c0 a2");
    assert_string_equal(d->class_name[0], "1");
    dataset_close(d);
    make_file(dir, "train.txt", "images/c.jpg 0\n", 15);
    check_dies(open_and_close, &o,
               "train.txt:1: class index 0 is out of range: the data set has 3 classes, "
               "counted from 1");
    strbuf_release(&got);
    remove_temp_dir(dir);
}

/* The split may be the name of the list itself. */
static void a_split_may_be_a_file(void **state)
{
    char *dir = make_data("lists/some", "images/c.jpg 1\n", NULL);
    struct dataset_source s = pack_source(dir, false);
    struct strbuf got = STRBUF_INIT;
    struct dataset *d;

    (void)state;
    s.split = "lists/some";
    d = dataset_open("imagenet22K", &s);
    show(d, &got);
    assert_string_equal(got.buf, "c1");
    dataset_close(d);
    strbuf_release(&got);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(classes_may_count_from_one),
        cmocka_unit_test(a_split_may_be_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
