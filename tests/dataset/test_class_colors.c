/* DATA.CLASS_COLORS: colors and color files as class sets, and label files. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/class_colors.h"
#include "dataset/label.h"
#include "tests/child.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

static const struct str_list none;

static const struct class_set *set_of(const char *const *color, int n, const char *dir,
                                      const char *ignored, struct strbuf *why)
{
    struct str_list colors = {color, n}, others = {&ignored, ignored != NULL};

    return class_colors_set(&colors, &none, &others, dir, why);
}

static void colors_are_parsed(void **state)
{
    static const char *const wrong[] = {"",           "#80408",     "#8040801", "#80408g",
                                        "128 64",     "128 64 256", "1 2 3 4",  "red",
                                        "1,2,3 Road", "-1 2 3",     "1000 2 3"};
    uint32_t rgb = 0;

    (void)state;
    assert_true(class_color_parse("#80ff00", &rgb));
    assert_int_equal(rgb, 0x80ff00);
    assert_true(class_color_parse("128 64 255", &rgb));
    assert_int_equal(rgb, 0x8040ff);
    assert_true(class_color_parse("1, 2,3", &rgb));
    assert_int_equal(rgb, 0x010203);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(class_color_parse(wrong[i], &rgb));
}

static void make_text(const char *dir, const char *name, const char *text)
{
    make_file(dir, name, text, strlen(text));
}

static void files_have_colors_and_names(void **state)
{
    static const char *const text[] = {
        "64 128 64\tAnimal\r\n0 0 0 \t Sky blue \n\n# no\n255 0 7\n",
        "name,r,g,b\nAnimal,64,128,64\nSky blue, 0, 0, 0\n255,0,7\n"};
    char *dir = make_temp_dir();

    (void)state;
    for (int k = 0; k < 2; k++) {
        const char *name = k ? "class_dict.csv" : "label_colors.txt";
        struct strbuf why = STRBUF_INIT;
        const struct class_set *s;

        make_text(dir, name, text[k]);
        s = set_of(&name, 1, dir, NULL, &why);
        assert_non_null(s);
        assert_int_equal(s->n, 3);
        assert_string_equal(s->row[0].name, "Animal");
        assert_string_equal(s->row[1].name, "Sky blue");
        assert_string_equal(s->row[2].name, "class2");
        assert_memory_equal(s->row[0].rgb, ((uint8_t[]){64, 128, 64}), 3);
        assert_memory_equal(s->row[2].rgb, ((uint8_t[]){255, 0, 7}), 3);
        assert_ptr_equal(s, set_of(&name, 1, dir, NULL, &why)); /* created once */
    }
    remove_temp_dir(dir);
}

static void check_refused(const char *const *color, int n, const char *dir,
                          const char *ignored, const char *want)
{
    struct strbuf why = STRBUF_INIT;

    assert_null(set_of(color, n, dir, ignored, &why));
    if (!strstr(why.buf, want))
        fail_msg("'%s' is not in '%s'", want, why.buf);
    strbuf_release(&why);
}

static void mistakes_are_named(void **state)
{
    static const char *const twice[] = {"#010203", "#000000", "1 2 3"};
    static const char *const wrong[] = {"#010203", "road"};
    static const char *const file[] = {"colors.txt"};
    char *dir = make_temp_dir();

    (void)state;
    check_refused(twice, 3, dir, NULL, "duplicate color #010203");
    check_refused(twice, 2, dir, "#000000", "duplicate color #000000");
    check_refused(wrong, 2, dir, NULL, "item 1 is not a color such as");
    check_refused(twice, 2, dir, "rest",
                  "item 0 must be a color such as '#804080', or 'others': 'rest'");
    check_refused(file, 1, dir, NULL, "colors.txt': No such file");
    make_text(dir, "colors.txt", "1 2 3 a\nroad\n");
    check_refused(file, 1, dir, NULL, "colors.txt:2': expected a color");
    make_text(dir, "colors.txt", "r g b name\n");
    check_refused(file, 1, dir, NULL, "has no colors");
    make_text(dir, "colors.txt", "1 2 3 caf\xe9\n");
    check_refused(file, 1, dir, NULL, "colors.txt:1': expected a color");
    remove_temp_dir(dir);
}

/* Writes three pixels as a P6 label file and reads them; returns the values or the reason
 * of failure. */
static int read_pixels(const struct class_set *s, const uint8_t rgb[9], uint8_t value[3],
                       struct strbuf *why)
{
    char *dir = make_temp_dir();
    struct label_options o = {.set = s};
    struct image_limits limits = image_limits_or_default(NULL);
    struct dataset_bytes bytes = {0};
    struct label_reader r = {0};
    uint8_t file[20] = "P6\n3 1\n255\n";
    struct dataset *d;
    int rc;

    memcpy(file + 11, rgb, 9);
    make_image(dir, "a.jpg", 3, 1, 0);
    make_file(dir, "a.ppm", file, sizeof(file));
    make_text(dir, "train.txt", "a.jpg a.ppm\n");
    d = open_labels("list", dir, &o);
    rc = dataset_label_map(d, 0, &limits, &bytes, &r, why);
    if (rc == 0)
        memcpy(value, r.pixel, 3);
    label_reader_release(&r);
    dataset_bytes_release(&bytes);
    dataset_close(d);
    remove_temp_dir(dir);
    return rc;
}

static void label_files_are_mapped(void **state)
{
    static const char *const color[] = {"#804080", "#000000", "0 0 1"};
    static const uint8_t known[9] = {0, 0, 1, 128, 64, 128, 0, 0, 0};
    static const uint8_t odd[9] = {7, 7, 7, 128, 64, 128, 7, 7, 7};
    static const uint8_t odder[9] = {7, 7, 7, 8, 7, 7, 128, 64, 128};
    struct strbuf why = STRBUF_INIT;
    uint8_t value[3];

    (void)state;
    assert_int_equal(read_pixels(set_of(color, 3, "", NULL, &why), known, value, &why),
                     0);
    assert_memory_equal(value, ((uint8_t[]){2, 0, 1}), 3);
    assert_int_equal(read_pixels(set_of(color, 2, "", "0 0 1", &why), known, value, &why),
                     0);
    assert_memory_equal(value, ((uint8_t[]){255, 0, 1}), 3);
    assert_true(read_pixels(set_of(color, 3, "", NULL, &why), odd, value, &why) < 0);
    assert_non_null(strstr(why.buf,
                           "a.ppm (train.txt:1)': the color #070707 at pixel (x 0, y "
                           "0) is no class: 2 pixels have it (DATA.CLASS"));
    strbuf_reset(&why);
    assert_true(read_pixels(set_of(color, 3, "", NULL, &why), odder, value, &why) < 0);
    assert_non_null(strstr(why.buf, "1 pixels have it, and 1 other"));
    strbuf_reset(&why);
    assert_int_equal(read_pixels(set_of(color, 3, "", "others", &why), odd, value, &why),
                     0);
    assert_memory_equal(value, ((uint8_t[]){255, 0, 255}), 3);
    strbuf_release(&why);
}

/* Stored counts and caches depend on the meaning of the colors. */
static void meanings_differ(void **state)
{
    static const char *const color[] = {"#804080", "#000000", "0 0 1"};
    struct strbuf why = STRBUF_INIT, a = STRBUF_INIT, b = STRBUF_INIT;
    struct dataset d = {.set = set_of(color, 2, "", NULL, &why)};

    (void)state;
    dataset_add_label_meaning(&d, &a);
    d.set = set_of(color + 1, 2, "", NULL, &why);
    dataset_add_label_meaning(&d, &b);
    assert_true(a.len != b.len || memcmp(a.buf, b.buf, a.len) != 0);
    d.set = set_of(color, 2, "", "others", &why);
    strbuf_reset(&b);
    dataset_add_label_meaning(&d, &b);
    assert_true(a.len != b.len);
    strbuf_release(&a);
    strbuf_release(&b);
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colors_are_parsed),
        cmocka_unit_test(files_have_colors_and_names),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(label_files_are_mapped),
        cmocka_unit_test(meanings_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
