/* Class sets: the label map values that they map, their names, and colors. */
#include <string.h>

#include "base/strbuf.h"
#include "dataset/class_set.h"
#include "dataset/label.h"
#include "tests/test.h"

/* Ids of the classes that Cityscapes evaluates, in the order of their train ids. */
static const int evaluated[19] = {7,  8,  11, 12, 13, 17, 19, 20, 21, 22,
                                  23, 24, 25, 26, 27, 28, 31, 32, 33};

static void maps_of_cityscapes(void **state)
{
    uint8_t map[256];

    (void)state;
    for (int n = 19; n <= 20; n++) {
        const struct class_set *s =
            class_set_find(n == 19 ? "cityscapes19" : "cityscapes20");
        int classes = 0, ignored = 0;

        assert_int_equal(s->n, n);
        class_set_map(s, n, false, map);
        for (int c = 0; c < 19; c++) {
            assert_int_equal(map[evaluated[c]], c);
            assert_int_equal(class_set_value(s, c), evaluated[c]);
        }
        for (int v = 0; v < 256; v++) {
            classes += map[v] < 19;
            ignored += map[v] == LABEL_IGNORE;
            assert_true(map[v] != 19);
        }
        assert_int_equal(classes, 19);
        assert_int_equal(ignored, 34 - 19 + 1);
        class_set_map(s, n, true, map);
        for (int v = 0; v < 256; v++)
            assert_int_equal(map[v], v < 19 || v == 255 ? v : LABEL_NONE);
    }
    assert_int_equal(class_set_value(class_set_find("cityscapes20"), 19), 0);
    for (int n = 34; n <= 35; n++) {
        class_set_map(class_set_find(n == 34 ? "cityscapes34" : "cityscapes35"), n, false,
                      map);
        for (int v = 0; v < 256; v++)
            assert_int_equal(map[v], v < n || v == 255 ? v : LABEL_NONE);
    }
}

static void maps_of_others(void **state)
{
    uint8_t map[256], rgb[3];
    struct strbuf s = STRBUF_INIT;

    (void)state;
    for (int n = 11; n <= 12; n++) {
        class_set_map(class_set_find(n == 11 ? "camvid11" : "camvid12"), n, false, map);
        for (int v = 0; v < 256; v++)
            assert_int_equal(map[v], v < 11                ? v
                                     : v == 11 || v == 255 ? LABEL_IGNORE
                                                           : LABEL_NONE);
    }
    class_set_map(NULL, 3, false, map);
    class_set_add_values(map, &s);
    assert_string_equal(s.buf, "0 to 2 and 255");
    strbuf_reset(&s);
    class_set_map(NULL, 254, false, map);
    class_set_add_values(map, &s);
    assert_string_equal(s.buf, "0 to 253 and 255");
    strbuf_release(&s);
    for (int c = 0; c < 21; c++) { /* VOC's colors by rule and in the table */
        uint8_t row[3];

        class_set_color(NULL, c, rgb);
        class_set_color(class_set_find("voc21"), c, row);
        assert_memory_equal(rgb, row, 3);
    }
}

/* Sets whose values start at 1, or have gaps. */
static void maps_of_large_sets(void **state)
{
    const struct class_set *ade = class_set_find("ade20k150");
    const struct class_set *coco = class_set_find("coco_stuff171");
    static const int gaps[] = {11, 25, 28, 29, 44, 65, 67, 68, 70, 82, 90};
    uint8_t map[256], rgb[3], other[3];

    (void)state;
    class_set_map(ade, 150, false, map);
    for (int v = 0; v < 256; v++)
        assert_int_equal(map[v], v == 0 || v == 255 ? LABEL_IGNORE
                                 : v <= 150         ? v - 1
                                                    : LABEL_NONE);
    assert_string_equal(ade->row[0].name, "wall");
    assert_string_equal(ade->row[149].name, "flag");
    class_set_map(coco, 171, false, map);
    for (size_t i = 0; i < sizeof(gaps) / sizeof(*gaps); i++)
        assert_int_equal(map[gaps[i]], LABEL_IGNORE);
    assert_int_equal(map[0], 0);
    assert_int_equal(map[12], 11);
    assert_int_equal(map[91], 80);
    assert_int_equal(map[181], 170);
    assert_int_equal(map[182], LABEL_NONE);
    assert_string_equal(coco->row[80].name, "banner");
    assert_string_equal(coco->row[170].name, "wood");
    for (int a = 0; a < 171; a++) {
        class_set_color(coco, a, rgb);
        assert_true(rgb[0] || rgb[1] || rgb[2]);
        for (int b = 0; b < a; b++) {
            class_set_color(coco, b, other);
            assert_memory_not_equal(rgb, other, 3);
            assert_true(strcmp(coco->row[a].name, coco->row[b].name) != 0);
        }
    }
}

static void sets_of_files(void **state)
{
    (void)state;
    assert_ptr_equal(class_set_of_files("/d/images/training/ADE_train_00000001.jpg", 150),
                     class_set_find("ade20k150"));
    assert_ptr_equal(class_set_of_files("/d/train2017/000000000009.jpg", 181),
                     class_set_find("coco_stuff171"));
    assert_null(class_set_of_files("/d/train2017/000000000009.jpg", 79));
    assert_null(class_set_of_files("/d/train2017/000000000009.jpg", 182));
    assert_ptr_equal(class_set_of_files("/d/loveDA/img_dir/train/0.png", 7),
                     class_set_find("loveda7"));
    assert_null(class_set_of_files("/d/loveDA/img_dir/train/0.png", 8));
    assert_null(class_set_of_files("/d/train/a.png", 3));
}

/* Checks each row of the table. */
static void rows_are_whole(void **state)
{
    struct strbuf why = STRBUF_INIT;
    uint8_t map[256];

    (void)state;
    for (const struct class_set *s = class_set_table; s->name; s++) {
        int classes = 0, valued = 0;

        assert_ptr_equal(class_set_find(s->name), s); /* no earlier row has this name */
        assert_true(names_known(&class_set_names, s->name, &why));
        assert_true(s->help && *s->help);
        class_set_map(s, s->n, false, map);
        for (int k = 0; k < s->n; k++) {
            assert_non_null(s->row[k].name);
            valued += s->row[k].value >= 0;
        }
        assert_null(s->row[s->n].name);
        for (int v = 0; v < 256; v++)
            classes += map[v] < s->n;
        assert_int_equal(classes, valued); /* no two classes share a value */
    }
    assert_int_equal(why.len, 0);
    strbuf_release(&why);
}

static void unknown_names_are_told_the_rows(void **state)
{
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_null(class_set_find("cityscapes"));
    assert_null(class_set_find(""));
    assert_true(names_known(&class_set_names, "", &why));
    assert_int_equal(why.len, 0);
    assert_false(names_known(&class_set_names, "cityscape19", &why));
    for (const struct class_set *s = class_set_table; s->name; s++)
        assert_non_null(strstr(why.buf, s->name));
    assert_non_null(strstr(why.buf, "not 'cityscape19' (did you mean cityscapes19?)"));
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_of_cityscapes),
        cmocka_unit_test(maps_of_others),
        cmocka_unit_test(maps_of_large_sets),
        cmocka_unit_test(sets_of_files),
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(unknown_names_are_told_the_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
