/* Tables of images and classes: supported forms of CSV, TSV, and JSON lines, and
 * errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dataset/sample_weights.h"
#include "dataset/table.h"
#include "tests/child.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

/* Images a, b b, and c in images/, d in train/, and 0042 in no folder. Contents are one
 * letter. */
static char *make_data(const char *table, const char *text)
{
    char *dir = make_temp_dir();

    make_file(dir, "images/a.jpg", "a", 1);
    make_file(dir, "images/b b.jpg", "b", 1);
    make_file(dir, "images/c.png", "c", 1);
    make_file(dir, "train/d.jpg", "d", 1);
    make_file(dir, "0042.JPG", "e", 1);
    if (text)
        make_file(dir, table, text, strlen(text));
    return dir;
}

/* "a1 c0 ?2 | cat dog": content and label of each sample, then the classes. */
static char *shown(const struct dataset *d)
{
    struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
    struct dataset_bytes bytes = {0};

    for (int64_t i = 0; i < d->n; i++) {
        bool is = dataset_read(d, i, 10, &bytes, &why) == 0;

        strbuf_addf(&out, "%c%d ", is ? (char)bytes.data[0] : '?', dataset_label(d, i));
        strbuf_reset(&why);
    }
    strbuf_addch(&out, '|');
    for (int c = 0; c < d->nclass; c++)
        strbuf_addf(&out, " %s", d->class_name[c]);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    return strbuf_detach(&out);
}

static void check_table(const char *table, const char *text, struct dataset_source s,
                        const char *want)
{
    char *dir = make_data(table, text), *got;
    struct dataset *d;

    s.path = dir;
    if (!s.split)
        s.split = "train";
    d = dataset_open("csv", &s);
    got = shown(d);
    assert_string_equal(got, want);
    free(got);
    dataset_close(d);
    remove_temp_dir(dir);
}

static void tables_are_read(void **state)
{
    static const struct {
        const char *table, *text, *want;
    } rows[] = {
        {"train.csv", "image,label\nimages/a.jpg,dog\nimages/c.png,cat\n",
         "a1 c0 | cat dog"},
        /* Kaggle: ids, in a folder train or images; classes in numeric order */
        {"train.csv", "id,breed\nd,10\nd,9\n", "d1 d0 | 9 10"},
        {"train.csv", "label,image_id\n1,a\n0,b b\n", "a1 b0 | 0 1"},
        {"train.csv", "id_code,diagnosis\n0042,3\n", "e0 | 3"},
        /* any order of columns, additional columns, BOM, CR LF, no newline at the end */
        {"train.csv",
         "\xef\xbb\xbfwidth,Label,Image\r\n3,x,images/a.jpg\r\n4,y,images/c.png",
         "a0 c1 | x y"},
        /* quoted fields with separators, quotes, and line breaks */
        {"train.csv",
         "\"file_name\",\"class\",note\n\"images/b b.jpg\",\"a, "
         "\"\"b\"\"\",\"two\nlines\"\n"
         "images/a.jpg,c,\n",
         "b0 a1 | a, \"b\" c"},
        {"train.csv", "image;label\nimages/a.jpg;x,y\n", "a0 | x,y"},
        {"train.tsv", "image\tlabel\nimages/a.jpg\tx, y\n", "a0 | x, y"},
        {"train.csv", "image|label\n\nimages/a.jpg|x\n\r\n", "a0 | x"},
        /* one of two columns contains images */
        {"train.csv", "foo,bar\nimages/a.jpg,x\n", "a0 | x"},
        {"train.jsonl",
         "{\"file_name\": \"images/a.jpg\", \"label\": \"x\"}\n\n"
         "{\"label\": \"w\", \"file_name\": \"images/c.png\", \"more\": [1]}\n",
         "a1 c0 | w x"},
        {"train.jsonl", "{\"image\": \"images/a.jpg\", \"label\": 7}\n", "a0 | 7"},
        {"train/metadata.csv", "file_name,label\nd.jpg,x\n", "d0 | x"},
        {"train/metadata.jsonl", "{\"file_name\": \"d.jpg\", \"label\": \"x\"}\n",
         "d0 | x"},
        /* a table of all splits has the classes of all of them */
        {"labels.csv", "image,label,split\nimages/a.jpg,x,val\nimages/c.png,y,Train\n",
         "c1 | x y"},
        {"metadata.csv", "image,label\nimages/a.jpg,x\n", "a0 | x"},
        /* missing files are found when they are read */
        {"train.csv", "image,label\nimages/a.jpg,x\nimages/gone.jpg,x\n", "a0 ?0 | x"},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        check_table(rows[r].table, rows[r].text, (struct dataset_source){0},
                    rows[r].want);
}

static void columns_are_named(void **state)
{
    static const char text[] = "label,file,fold,kind\nimages/a.jpg,images/"
                               "c.png,0,x\nimages/c.png,images/a.jpg,1,y\n"
                               "images/c.png,images/a.jpg,2,z\n";
    struct dataset_source s = {.columns = {.label = "kind", .split = "fold"}};

    (void)state;
    s.split = "1";
    check_table("data.csv", text, s, "a1 | x y z");
    s.split = "!1";
    check_table("data.csv", text, s, "c0 a2 | x y z");
    s.columns.image = "label";
    check_table("data.csv", text, s, "a0 c2 | x y z");
    s = (struct dataset_source){.columns = {.folder = "images"}};
    check_table("train.csv", "image,label\nc,x\n", s, "c0 | x");
    s = (struct dataset_source){.split = "val", .number = 1};
    check_table("labels.csv", "image,label,split\nimages/a.jpg,x,validation\n", s,
                "a0 | x");
}

static void mistakes_are_told(void **state)
{
    static const struct {
        const char *table, *text, *why;
    } rows[] = {
        {"x.csv", "a", "': expected train.csv, labels.csv, or metadata.csv"},
        {"train.csv", "image,label\n", "train.csv' has no rows"},
        {"train.csv", "", "train.csv' has no rows"},
        {"train.csv", "image,label\nimages/a.jpg,x,y\n",
         "train.csv':2: 3 fields, but the header has 2"},
        {"train.csv", "image,label\n\n\"images/a.jpg,x\n",
         "train.csv':3: a quote is not closed"},
        {"train.csv", "foo,label\nx,y\n",
         "no column recognized as the image: set DATA.IMAGE_COLUMN to one of foo, label"},
        {"train.csv", "image,foo,bar\nimages/a.jpg,1,2\n",
         "no column recognized as the class: set DATA.LABEL_COLUMN to one of image, foo, "
         "bar"},
        {"train.csv", "image,label\nimages/a.jpg,x\nimages/c.png,\n",
         "train.csv:3: the class is empty"},
        {"train.csv", "image,label\nnowhere,x\n",
         "train.csv:2: image 'nowhere' not found (also with .jpg or .png) in the folder "
         "of the table or its train, images, train, or data: set DATA.IMAGE_FOLDER"},
        {"labels.csv", "image,label,split\nimages/a.jpg,x,test\n",
         "no row has 'train' in its column 'split'"},
        {"train.jsonl", "{\"image\": 1}\n[]\n",
         "train.jsonl':2: not a JSON object with fields"},
        {"train.jsonl", "{}\n", "train.jsonl':1: not a JSON object with fields"},
        {"train.jsonl", "{\"image\": 1\n", "train.jsonl':1: "},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *dir = make_data(rows[r].table, rows[r].text);
        struct opening o = {"csv", {.path = dir, .split = "train"}};

        check_dies(open_and_close, &o, rows[r].why);
        remove_temp_dir(dir);
    }
}

/* A single table without a split column requires a validation fraction. */
static void validation_needs_a_part(void **state)
{
    char *dir = make_data("labels.csv", "image,label\nimages/a.jpg,x\nimages/c.png,y\n");
    struct opening o = {"csv", {.path = dir, .split = "val", .number = 1}};
    struct dataset *d;

    (void)state;
    check_dies(open_and_close, &o,
               "has no split column, and there is no val.csv: name the column with "
               "DATA.SPLIT_COLUMN, or use DATA.VAL_FRACTION 0.1");
    o.source.carved = true;
    d = dataset_open("csv", &o.source);
    assert_int_equal(d->n, 2);
    dataset_close(d);
    remove_temp_dir(dir);
}

/* Target shares of classes for balanced, half-balanced, and weighted sampling. */
static void samples_have_weights(void **state)
{
    static const struct {
        enum sampling rule;
        double want[4];
    } rows[] = {{SAMPLING_BALANCED, {1. / 3, 2. / 3, 1, 2}},
                {SAMPLING_SQRT, {0.5773503, 1.1547005, 1.7320508, 2.7320508}},
                {SAMPLING_WEIGHTS, {2, 2, 2.5, 12.5}}};
    char *dir =
        make_data("train.csv", "image,label,w\nimages/a.jpg,x,2\nimages/c.png,x,0\n"
                               "images/a.jpg,x,0.5\nimages/c.png,y,10\n");
    struct dataset_source s = {.path = dir, .split = "train", .columns = {.weight = "w"}};
    struct dataset *d = dataset_open("csv", &s);

    (void)state;
    for (size_t r = 0; r < 3; r++) {
        double *sum = sample_weights(d, rows[r].rule);

        for (int i = 0; i < 4; i++)
            assert_true(fabs(sum[i] - rows[r].want[i]) < 1e-6);
        free(sum);
    }
    assert_null(sample_weights(d, SAMPLING_UNIFORM));
    dataset_close(d);
    make_file(dir, "train.csv", "image,label,w\nimages/a.jpg,x,-1\n", 32);
    check_dies(open_and_close, &(struct opening){"csv", s},
               "train.csv:2: invalid weight '-1': expected a number of at least 0");
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_read),      cmocka_unit_test(columns_are_named),
        cmocka_unit_test(mistakes_are_told),    cmocka_unit_test(validation_needs_a_part),
        cmocka_unit_test(samples_have_weights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
