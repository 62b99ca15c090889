/* Tables of numbers: which columns are targets, their values, mistakes, and what init takes for
 * numbers instead of classes; the order of classes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dataset/table.h"
#include "tests/child.h"
#include "tests/make_folder.h"
#include "tests/test.h"

enum { TARGETS_MAX = 8 };

static char *make_data(const char *table, const char *text)
{
    char *dir = make_temp_dir();

    make_file(dir, "images/a.jpg", "a", 1);
    make_file(dir, "images/b.jpg", "b", 1);
    make_file(dir, table, text, strlen(text));
    return dir;
}

static struct dataset_source source_of(const char *dir, const char *columns)
{
    struct dataset_source s = {.path = dir, .split = "train", .values = true};

    s.columns.label = columns;
    return s;
}

/* "1.5 2 | 3 4 | x y": the targets of each sample, and their names. */
static char *shown(const struct dataset *d)
{
    struct strbuf out = STRBUF_INIT;

    assert_true(d->values && dataset_target_size(d) == sizeof(float) * (size_t)d->nclass);
    for (int64_t i = 0; i < d->n; i++) {
        float y[TARGETS_MAX];

        assert_int_equal(dataset_label(d, i), 0);
        dataset_targets(d, i, y);
        for (int k = 0; k < d->nclass; k++)
            strbuf_addf(&out, "%g ", (double)y[k]);
        strbuf_addstr(&out, "| ");
    }
    for (int k = 0; k < d->nclass; k++)
        strbuf_addf(&out, "%s%s", k ? " " : "", d->class_name[k]);
    return strbuf_detach(&out);
}

static void numbers_are_read(void **state)
{
    static const struct {
        const char *table, *columns, *text, *want;
    } rows[] = {
        {"train.csv", "", "image,age\na,31.5\nb,-2e1\n", "31.5 | -20 | age"},
        {"train.csv", "", "image,x,target,y\na,1,2,3\nb,4,5,6\n", "2 | 5 | target"},
        {"train.csv", "y, x", "image,x,target,y\na,1,2,3\nb,4,5,6\n", "3 1 | 6 4 | y x"},
        {"train.csv", "*", "id,image,x,word,y\n1,a,1,u,3\n2,b,4,v,6\n",
         "1 3 | 4 6 | x y"},
        {"train.tsv", "", "image\tx\ty\na\t0.25\t+3\nb\t1\t.5\n", "0.25 3 | 1 0.5 | x y"},
        {"train.jsonl", "x",
         "{\"image\": \"a\", \"x\": 0.1}\n{\"image\": \"b\", \"x\": 2}\n", "0.1 | 2 | x"},
        {"labels.csv", "age", "image,split,age\na,train,1\nb,val,wrong\n", "1 | age"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *dir = make_data(rows[i].table, rows[i].text), *got;
        struct dataset_source s = source_of(dir, rows[i].columns);
        struct dataset *d = dataset_open("csv", &s);

        got = shown(d);
        assert_string_equal(got, rows[i].want);
        free(got);
        dataset_close(d);
        remove_temp_dir(dir);
    }
}

static void open_values(void *source)
{
    dataset_close(dataset_open("csv", source));
}

static void mistakes_name_the_line(void **state)
{
    static const struct {
        const char *columns, *text, *want;
    } rows[] = {
        {"age", "image,age\na,1\nb,\n", "train.csv:3: the target 'age' is empty"},
        {"age", "image,age\na,nan\n",
         "train.csv:2: the target 'age' is no finite number"},
        {"age", "image,age\na,0x10\n", "'0x10'"},
        {"age", "image,age\na,1 2\n", "'1 2'"},
        {"age", "image,age\na,1e39\n", "'1e39'"},
        {"age,size", "image,age\na,1\n", "has no column 'size' (DATA.LABEL_COLUMN)"},
        {"", "image,word\na,u\n", "the target 'word' is no finite number"},
        {"*", "image,word\na,u\n", "has no column of numbers"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *dir = make_data("train.csv", rows[i].text);
        struct dataset_source s = source_of(dir, rows[i].columns);

        check_dies(open_values, &s, rows[i].want);
        remove_temp_dir(dir);
    }
}

/* Appends a table of whole numbers: first, first + step, ... */
static char *whole_numbers(const char *name, int n, int first, int step)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_addf(&s, "image,%s\n", name);
    for (int i = 0; i < 2 * n; i++)
        strbuf_addf(&s, "a,%d\n", first + i % n * step);
    return strbuf_detach(&s);
}

static void check_values(char *text, const char *want)
{
    char *dir = make_data("train.csv", text);
    struct dataset_source s = {.path = dir, .split = "train"};
    struct strbuf columns = STRBUF_INIT, why = STRBUF_INIT;
    bool has = storage_find("csv")->has_values(&s, &columns, &why);

    assert_true(has == (want != NULL));
    if (want)
        assert_string_equal(columns.buf, want);
    assert_true(!has || why.len);
    strbuf_release(&columns);
    strbuf_release(&why);
    remove_temp_dir(dir);
    free(text);
}

static void numbers_are_told_from_classes(void **state)
{
    (void)state;
    check_values(xstrdup("image,score\na,1.5\nb,2\n"), "score");
    check_values(xstrdup("image,x,y\na,1.5,0.25\nb,2,3\n"), "x,y");
    check_values(xstrdup("image,label\na,1\nb,2\n"), NULL);
    check_values(xstrdup("image,label\na,1.0\nb,2.0\n"), NULL);
    check_values(xstrdup("image,label\na,1.5\nb,cat\n"), NULL);
    check_values(whole_numbers("age", 20, 5, 3), NULL);
    check_values(whole_numbers("age", 21, 5, 3), "age");
    check_values(whole_numbers("label", 100, 0, 1), NULL); /* CIFAR-100 */
    check_values(whole_numbers("label", 100, 1, 1), NULL);
    check_values(whole_numbers("class_id", 30, 5, 3), NULL);
}

static void classes_are_ordered(void **state)
{
    static const char *const name[] = {"worst", "none", "mild"};
    char *dir = make_data("train.csv", "image,label\na,mild\nb,none\na,worst\n");
    struct dataset_source s = {.path = dir, .split = "train"};
    struct dataset *d = dataset_open("csv", &s);
    uint64_t digest = dataset_digest(d);

    (void)state;
    assert_int_equal(dataset_label(d, 0), 0);
    dataset_order_classes(d, name);
    for (int k = 0; k < 3; k++)
        assert_string_equal(d->class_name[k], name[k]);
    assert_int_equal(dataset_label(d, 0), 2);
    assert_int_equal(dataset_label(d, 1), 1);
    assert_int_equal(dataset_label(d, 2), 0);
    assert_true(dataset_digest(d) != digest);
    dataset_close(d);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(mistakes_name_the_line),
        cmocka_unit_test(numbers_are_told_from_classes),
        cmocka_unit_test(classes_are_ordered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
