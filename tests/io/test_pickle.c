/* io/pickle: values of each kind, and streams that no pickler would write. */
#include <string.h>

#include "io/pickle.h"
#include "tests/test.h"

/* Reads a string literal; the value is valid until the next call. */
#define READ(text) read_text("" text, sizeof(text) - 1)

static struct pickle p;
static struct strbuf why = STRBUF_INIT;

static const struct pickle_value *read_text(const char *data, size_t len)
{
    int rc;

    pickle_release(&p);
    strbuf_reset(&why);
    rc = pickle_read(&p, data, len, &why);
    assert_int_equal(rc != 0, why.len > 0);
    return rc ? NULL : p.root;
}

static int64_t number(const struct pickle_value *v)
{
    assert_non_null(v);
    assert_int_equal(v->kind, PICKLE_INT);
    return v->number;
}

static void test_numbers(void **state)
{
    const struct pickle_value *v;

    (void)state;
    assert_int_equal(number(READ("\x80\x02K\xff.")), 255);
    assert_int_equal(number(READ("\x80\x02M\x01\x02.")), 513);
    assert_int_equal(number(READ("\x80\x02J\xfe\xff\xff\xff.")), -2);
    assert_int_equal(number(READ("\x80\x02\x8a\x00.")), 0);
    assert_int_equal(number(READ("\x80\x02\x8a\x01\x80.")), -128);
    assert_int_equal(number(READ("\x80\x02\x8a\x02\x80\x00.")), 128);
    assert_true(number(READ("\x80\x02\x8a\x08\0\0\0\0\0\0\0\x80.")) == INT64_MIN);
    v = READ("\x80\x02\x8a\x09\0\0\0\0\0\0\0\0\x01.");
    assert_non_null(v);
    assert_int_equal(v->kind, PICKLE_LONG);
    assert_int_equal(v->text.len, 9);
    v = READ("\x80\x02G?\xf8\0\0\0\0\0\0.");
    assert_non_null(v);
    assert_int_equal(v->kind, PICKLE_FLOAT);
    assert_true(v->real == 1.5);
    v = READ("\x88.");
    assert_non_null(v);
    assert_true(v->kind == PICKLE_BOOL && v->number == 1);
    v = READ("N.");
    assert_non_null(v);
    assert_int_equal(v->kind, PICKLE_NONE);
}

static void test_containers(void **state)
{
    const struct pickle_value *v;

    (void)state;
    /* {'a': (1, 2), 'b': [3, 'x'], 'a': 4}, with both ways of adding items */
    v = READ("\x80\x02}(U\x01"
             "aK\x01K\x02\x86X\x01\0\0\0b](K\x03\x8c\x01xeu\x8c\x01"
             "aK\x04s.");
    assert_non_null(v);
    assert_int_equal(v->kind, PICKLE_DICT);
    assert_int_equal(v->item.n, 6);
    assert_int_equal(number(pickle_get(v, "a")), 4);
    assert_int_equal(number(pickle_item(v->item.v[1], 1)), 2);
    assert_int_equal(number(pickle_item(pickle_get(v, "b"), 0)), 3);
    assert_string_equal(pickle_text(pickle_item(pickle_get(v, "b"), 1)), "x");
    assert_null(pickle_item(pickle_get(v, "b"), 2));
    assert_null(pickle_get(v, "c"));
    assert_null(pickle_get(pickle_get(v, "a"), "c"));
    assert_null(pickle_item(v, 0)); /* a dict has keys */

    /* a list that contains itself: l = []; l.append(l) */
    v = READ("\x80\x04]\x94h\0a.");
    assert_non_null(v);
    assert_ptr_equal(pickle_item(v, 0), v);
}

/* OrderedDict becomes a dict; any other call stays a call. */
static void test_calls(void **state)
{
    const struct pickle_value *v;

    (void)state;
    v = READ("\x80\x02"
             "ccollections\nOrderedDict\n)R(U\x01xK\x07u}U\x09_metadataNsb.");
    assert_non_null(v);
    assert_int_equal(v->kind, PICKLE_DICT);
    assert_int_equal(number(pickle_get(v, "x")), 7);
    v = READ("\x80\x02"
             "ccollections\nOrderedDict\n]]U\x01xaK\x07"
             "aa\x85R.");
    assert_non_null(v);
    assert_int_equal(number(pickle_get(v, "x")), 7);

    v = READ("\x80\x02"
             "cos\nsystem\nU\x04true\x85R.");
    assert_non_null(v);
    assert_int_equal(v->kind, PICKLE_OBJECT);
    assert_string_equal(pickle_global(pickle_item(v, 0)), "os system");
    assert_string_equal(pickle_text(pickle_item(pickle_item(v, 1), 0)), "true");

    v = READ("\x80\x04\x8c\x01m\x8c\x01n\x93)\x81(U\x01kK\x01u.");
    assert_non_null(v);
    assert_string_equal(pickle_global(pickle_item(v, 0)), "m n");

    v = READ("\x80\x02U\x07storageK\x05\x86Q.");
    assert_non_null(v);
    assert_int_equal(v->kind, PICKLE_REF);
    assert_int_equal(p.nref, 1);
    assert_ptr_equal(p.ref[0], v);
    assert_int_equal(number(pickle_item(pickle_item(v, 0), 1)), 5);
}

/* Several pickles may follow each other. */
static void test_used(void **state)
{
    (void)state;
    assert_int_equal(number(READ("\x80\x02K\x01.\x80\x02K\x02.")), 1);
    assert_int_equal(p.used, 5);
}

static void test_bad(void **state)
{
    static const struct {
        const char *data, *reason;
        size_t len;
    } bad[] = {
#define BAD(text, reason) {"" text, reason, sizeof(text) - 1}
        BAD("", "ends in the middle"),
        BAD("\x80", "ends in the middle"),
        BAD("\x80\x06N.", "protocol above 5"),
        BAD("N", "ends in the middle"),
        BAD(".", "a value is missing"),
        BAD("X\xff\xff\xff\xffx.", "ends in the middle"),
        BAD("\x8d\xff\xff\xff\xff\xff\xff\xff\xffx.", "ends in the middle"),
        BAD("\x8b\xff\xff\xff\xff.", "ends in the middle"),
        BAD("t.", "a mark is missing"),
        BAD("u.", "a mark is missing"),
        BAD("(u.", "a value is missing"),
        BAD("}(Nu.", "a key has no value"),
        BAD("(Nd.", "a key has no value"),
        BAD("N(NNu.", "holds nothing"),
        BAD("}(NNe.", "holds nothing"),
        BAD("}NaN.", "holds nothing"),
        BAD("]a.", "a value is missing"),
        BAD("](a.", "a value is missing"),
        BAD("N\x87.", "a value is missing"),
        BAD("(NR.", "a value is missing"),
        BAD("NR.", "a value is missing"),
        BAD("Q.", "a value is missing"),
        BAD("b.", "a value is missing"),
        BAD("h\0.", "memo is missing"),
        BAD("Nq\1h\0.", "memo is missing"),
        BAD("Nr\xff\xff\xff\xff.", "memo is out of range"),
        BAD("q\0.", "a value is missing"),
        BAD("cos\nsystem", "ends in the middle"),
        BAD("NN\x93.", "a class has no name"),
        BAD("I1\n.", "an opcode that torch.save does not write"),
        BAD("\xff.", "an opcode that torch.save does not write"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (read_text(bad[i].data, bad[i].len) || !strstr(why.buf, bad[i].reason))
            fail_msg("bad %zu: '%s' instead of '%s'", i, why.buf, bad[i].reason);
        assert_non_null(strstr(why.buf, "bad pickle, at byte "));
    }
}

static int teardown(void **state)
{
    (void)state;
    pickle_release(&p);
    strbuf_release(&why);
    return 0;
}

/* Copying a list with a few bytes each time would otherwise exhaust the memory. */
static void test_copies(void **state)
{
    enum { PAIRS = 5000, COPIES = 3000 };
    static const char begin[] = "\x80\x02"
                                "ccollections\nOrderedDict\nq\0(",
                      copy[] = "h\0h\1R0";
    struct strbuf s = STRBUF_INIT;

    (void)state;
    strbuf_add(&s, begin, sizeof(begin) - 1);
    for (int i = 0; i < PAIRS; i++)
        strbuf_addstr(&s, "NN\x86");
    strbuf_addstr(&s, "l\x85"); /* ([(None, None), ...],) */
    strbuf_add(&s, "q\1", 2);
    for (int i = 0; i < COPIES; i++)
        strbuf_add(&s, copy, sizeof(copy) - 1);
    strbuf_addch(&s, '.');
    assert_null(read_text(s.buf, s.len));
    assert_non_null(strstr(why.buf, "more than 16 million"));
    strbuf_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_containers),
        cmocka_unit_test(test_calls),   cmocka_unit_test(test_used),
        cmocka_unit_test(test_bad),     cmocka_unit_test(test_copies),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
