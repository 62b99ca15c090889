/* io/json: jansson reads back what the writer writes; invalid JSON is refused. */
#include <math.h>

#include "base/file.h"
#include "base/half.h"
#include "base/philox.h"
#include "io/json.h"
#include "tests/test.h"

static void test_layout(void **state)
{
    struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_writer(&text);

    (void)state;
    json_begin_object(&w, NULL);
    json_put_double(&w, "loss", 0.1);
    json_begin_array(&w, "dims");
    json_put_int(&w, NULL, INT64_MIN);
    json_begin_object(&w, NULL);
    json_end(&w);
    json_put_bool(&w, NULL, true);
    json_end(&w);
    json_put_double(&w, "nan", (double)NAN);
    json_put_double(&w, "inf", -(double)INFINITY);
    json_put_null(&w, "none");
    json_put_bool(&w, "no", false);
    json_put_known(&w, "one", 1, 1);
    json_put_known(&w, "unknown", 0, 1);
    json_end(&w);
    assert_string_equal(text.buf, "{\"loss\":0.1,\"dims\":[-9223372036854775808,{},true],"
                                  "\"nan\":null,\"inf\":null,\"none\":null,\"no\":false,"
                                  "\"one\":1,\"unknown\":null}");
    strbuf_release(&text);
}

static void test_pretty(void **state)
{
    struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_writer(&text);

    (void)state;
    w.pretty = true;
    json_begin_object(&w, NULL);
    json_put_int(&w, "a", 1);
    json_begin_array(&w, "b");
    json_end(&w);
    json_end(&w);
    assert_string_equal(text.buf, "{\n  \"a\": 1,\n  \"b\": []\n}");
    strbuf_release(&text);
}

static void test_escapes(void **state)
{
    static const struct {
        const char *raw, *quoted;
    } row[] = {
        {"plain", "\"plain\""},
        {"\"\\/", "\"\\\"\\\\/\""},
        {"\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\""},
        {"\xc2\x9b\xe2\x80\xa8\xe2\x80\xae\xef\xbb\xbf",
         "\"\\u009b\\u2028\\u202e\\ufeff\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
         "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"a\xff", "\"a\xef\xbf\xbd\""},
        {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong NUL */
        {"\xe0\x80\x41", "\"\xef\xbf\xbd\xef\xbf\xbd\x41\""},         /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* incomplete at the end */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
        struct json_writer w = json_writer(&text);
        json_t *root;

        json_begin_array(&w, NULL);
        json_put_string(&w, NULL, row[i].raw);
        json_end(&w);
        root = json_parse(text.buf, text.len, &why);
        assert_non_null(root); /* the output is always valid JSON */
        json_decref(root);
        assert_int_equal(text.buf[text.len - 1], ']');
        text.buf[text.len - 1] = '\0';
        assert_string_equal(text.buf + 1, row[i].quoted);
        strbuf_release(&text);
        strbuf_release(&why);
    }
}

/* Every double is read back, and common ones look natural. */
static void test_doubles(void **state)
{
    static const double value[] = {
        0.0,  -0.0,    1.0 / 3, 0.1,       5e-324, 1.7976931348623157e308,
        1e21, 2.5e-10, 0.3,     123456.789};
    int compared = 0;

    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        struct philox r = philox(7, PHILOX_TEST, 0, i);
        struct strbuf s = STRBUF_INIT;
        uint64_t bits = (uint64_t)r.v[0] << 32 | r.v[1], got;
        double x, y;

        if (i < sizeof(value) / sizeof(value[0]))
            x = value[i];
        else
            memcpy(&x, &bits, sizeof(x));
        if (!isfinite(x))
            continue;
        json_add_double(&s, x);
        y = strtod(s.buf, NULL);
        memcpy(&bits, &x, sizeof(x));
        memcpy(&got, &y, sizeof(y));
        assert_true(bits == got);
        strbuf_reset(&s);
        json_add_float(&s, (float)y);
        assert_int_equal(float_bits(strtof(s.buf, NULL)), float_bits((float)y));
        strbuf_release(&s);
        compared++;
    }
    assert_true(compared > 19000);

    struct strbuf s = STRBUF_INIT;

    json_add_double(&s, 0.001);
    strbuf_addch(&s, ' ');
    json_add_double(&s, 88.21);
    strbuf_addch(&s, ' ');
    json_add_double(&s, 5);
    strbuf_addch(&s, ' ');
    json_add_float(&s, 0.1f);
    strbuf_addch(&s, ' ');
    json_add_float(&s, 16777217.0f);
    assert_string_equal(s.buf, "0.001 88.21 5 0.1 16777216");
    strbuf_release(&s);
}

static void test_refused(void **state)
{
    static const char *const text[] = {
        "",
        "{",
        "{\"a\":1,\"a\":2}",
        "[1] 2",
        "[1,]",
        "{'a':1}",
        "[NaN]",
        "[01]",
        "[\"\xff\"]",
        "[1e999]",
        "{\"a\":[{\"b\":1,\"b\":1}]}",
        "nul",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        struct strbuf why = STRBUF_INIT;

        assert_null(json_parse(text[i], strlen(text[i]), &why));
        assert_non_null(strstr(why.buf, "JSON, line 1"));
        strbuf_release(&why);
    }
}

static void test_depth(void **state)
{
    struct strbuf deep = STRBUF_INIT, why = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < 100000; i++)
        strbuf_addch(&deep, '[');
    assert_null(json_parse(deep.buf, deep.len, &why));
    assert_non_null(strstr(why.buf, "depth"));
    strbuf_release(&deep);
    strbuf_release(&why);
}

static void test_file(void **state)
{
    struct strbuf why = STRBUF_INIT;
    json_t *root;

    (void)state;
    assert_null(json_parse_file("/nonexistent/x.json", &why));
    assert_string_equal(why.buf,
                        "cannot read '/nonexistent/x.json': No such file or directory");
    strbuf_reset(&why);
    root = json_parse_file("tests/golden/io/result.json", &why);
    assert_non_null(root);
    assert_int_equal(why.len, 0);
    if (!(json_number_value(json_object_get(root, "val_top1")) == 91.2))
        fail();
    json_decref(root);
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_layout),  cmocka_unit_test(test_pretty),
        cmocka_unit_test(test_escapes), cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_file),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
