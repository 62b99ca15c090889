/* The table of file formats: every row by itself, and no row accepts another's files. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "image/decoder.h"
#include "tests/image/decode_image.h"
#include "tests/test.h"

#define POINTER(name) &decoder_##name,

static const struct decoder *const table[] = {DECODER_TABLE(POINTER)};

enum { FORMATS = sizeof(table) / sizeof(table[0]) };

/* Returns the row with the extension, or -1 if there is none. */
static int row_of(const char *dot)
{
    for (int i = 0; i < FORMATS; i++)
        for (int e = 0; table[i]->extension[e]; e++)
            if (!strcasecmp(dot, table[i]->extension[e]))
                return i;
    return -1;
}

static void rows_are_whole(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS; i++) {
        assert_non_null(table[i]->name);
        assert_true(table[i]->is && table[i]->open && table[i]->read);
        assert_true(!table[i]->state_new == !table[i]->state_free);
        assert_non_null(table[i]->extension[0]);
        for (int e = 0; table[i]->extension[e]; e++) {
            const char *c = table[i]->extension[e];

            assert_int_equal(row_of(c), i); /* no earlier row has it */
            assert_int_equal(*c, '.');
            while (*++c)
                assert_false(isupper((unsigned char)*c));
        }
    }
}

/* A file of every format matches exactly one row by its first bytes, and can be read. */
static void files_have_one_format(void **state)
{
    const char *dir = "tests/golden/image_decode";
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    int n, found[FORMATS] = {0};
    char **name = dir_list(dir, &n);

    (void)state;
    assert_true(n > 0);
    for (int k = 0; k < n; k++) {
        char *path = path_join(dir, name[k]);
        size_t len;
        char *data = file_read(path, &len);
        int row = row_of(path_extension(name[k]));

        assert_non_null(data);
        for (int i = 0; i < FORMATS && row >= 0; i++)
            if (table[i]->is(data, len) != (i == row))
                fail_msg("%s: is it %s?", name[k], table[i]->name);
        if (row >= 0) {
            assert_ptr_equal(decoder_find(data, len), table[row]);
            found[row] += decode_image(d, data, len, NULL, &img, &why) == 0;
            for (size_t short_len = 0; short_len < 2; short_len++)
                assert_null(decoder_find(data, short_len));
        }
        free(path);
        free(data);
    }
    for (int i = 0; i < FORMATS; i++)
        if (!found[i])
            fail_msg("no file of %s can be read", table[i]->name);
    dir_list_free(name, n);
    image_release(&img);
    strbuf_release(&why);
    image_decoder_free(d);
}

static void names_and_lists_are_the_tables(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf list = STRBUF_INIT, why = STRBUF_INIT, name = STRBUF_INIT;
    int w, h;

    (void)state;
    image_add_extensions(&list);
    assert_int_equal(image_decoder_open(d, "text", 4, &w, &h, &why), -1);
    assert_non_null(strstr(why.buf, "no image of a known format"));
    for (int i = 0; i < FORMATS; i++) {
        assert_non_null(strstr(why.buf, table[i]->name));
        for (int e = 0; table[i]->extension[e]; e++) {
            assert_non_null(strstr(list.buf, table[i]->extension[e]));
            strbuf_reset(&name);
            strbuf_addf(&name, "a/b.txt%s", table[i]->extension[e]);
            assert_true(image_has_extension(name.buf));
            name.buf[name.len - 1] = (char)toupper((unsigned char)name.buf[name.len - 1]);
            assert_true(image_has_extension(name.buf));
            strbuf_addstr(&name, "x");
            assert_false(image_has_extension(name.buf));
        }
    }
    assert_false(image_has_extension("jpg"));
    assert_false(image_has_extension("a.jpg/b"));
    strbuf_release(&list);
    strbuf_release(&why);
    strbuf_release(&name);
    image_decoder_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(files_have_one_format),
        cmocka_unit_test(names_and_lists_are_the_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
