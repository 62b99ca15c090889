/*
 * Values are converted to the type of their key: yacs's conversions, and where trainc
 * differs.
 */
#include <string.h>

#include "config/coerce.h"
#include "config/literal.h"
#include "config/scalar.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

/* Returns the new value of a column, as a typed value (not as text). */
static struct value sample(struct arena *a, enum value_type type)
{
    struct value v = value_list(a, type, 1);

    switch (type) {
    case VALUE_INT:
        return value_int(3);
    case VALUE_FLOAT:
        return value_float(1.5);
    case VALUE_BOOL:
        return value_bool(true);
    case VALUE_STR:
        return value_str(a, "abc");
    case VALUE_LIST:
    case VALUE_TUPLE:
        v.list.item[0] = value_int(7);
        return v;
    case VALUE_NODE:
        return (struct value){.type = VALUE_NODE};
    default:
        return value_none();
    }
}

/*
 * Rows: declared type; columns: type of the new value. `=` unchanged, `x` rejected, l and
 * t become a list or a tuple, f a float (yacs rejects LR 1).
 */
static const enum value_type column[] = {VALUE_INT,  VALUE_FLOAT, VALUE_BOOL, VALUE_STR,
                                         VALUE_LIST, VALUE_TUPLE, VALUE_NONE, VALUE_NODE};
static const struct {
    enum value_type old;
    const char *answer;
} matrix[] = {
    {VALUE_INT, "=xxxxx=x"}, {VALUE_FLOAT, "f=xxxx=x"}, {VALUE_BOOL, "xx=xxx=x"},
    {VALUE_STR, "xxx=xx=x"}, {VALUE_LIST, "xxxx=l=x"},  {VALUE_TUPLE, "xxxxt==x"},
};

static enum value_type expected(char answer, enum value_type in)
{
    return answer == 'f'   ? VALUE_FLOAT
           : answer == 'l' ? VALUE_LIST
           : answer == 't' ? VALUE_TUPLE
                           : in;
}

static void test_matrix(void **state)
{
    struct arena mem = {0};
    int n = 0;

    (void)state;
    for (size_t r = 0; r < sizeof(matrix) / sizeof(*matrix); r++) {
        for (size_t c = 0; c < 8; c++, n++) {
            struct value in = sample(&mem, column[c]), out = {.type = VALUE_OTHER};
            struct strbuf why = STRBUF_INIT;
            struct decl d = {.type = matrix[r].old, .item = VALUE_INT};
            char answer = matrix[r].answer[c];
            bool ok = coerce(&mem, &d, &in, &out, &why);

            if (ok == (answer == 'x') || (ok && out.type != expected(answer, in.type)))
                fail_msg("%s from %s: %s", value_type_name(matrix[r].old),
                         value_type_name(column[c]), ok ? "taken" : why.buf);
            assert_true(ok == !why.len);
            strbuf_release(&why);
        }
    }
    assert_int_equal(n, 48);
    arena_release(&mem);
}

enum { PLAIN, QUOTED, ARGUMENT };

/* How text is parsed: as a plain or quoted YAML scalar, or on the command line. */
static const struct {
    enum value_type type, item;
    int source;
    const char *text, *want; /* repr, or NULL if rejected */
} texts[] = {
    {VALUE_INT, 0, PLAIN, "0o10", "8"},
    {VALUE_INT, 0, PLAIN, "010", "8"},
    {VALUE_INT, 0, ARGUMENT, "010", NULL},
    {VALUE_INT, 0, QUOTED, "5", "5"},
    {VALUE_INT, 0, PLAIN, "1:30", "90"},
    {VALUE_INT, 0, ARGUMENT, " 3 ", "3"},
    {VALUE_INT, 0, ARGUMENT, "1_000", "1000"},
    {VALUE_INT, 0, ARGUMENT, "3.0", NULL},
    {VALUE_INT, 0, ARGUMENT, "1e3", NULL},
    {VALUE_INT, 0, ARGUMENT, "True", NULL},
    {VALUE_INT, 0, PLAIN, "yes", NULL},
    {VALUE_INT, 0, ARGUMENT, "", NULL},
    {VALUE_INT, 0, ARGUMENT, "99999999999999999999", NULL},
    {VALUE_BOOL, 0, PLAIN, "on", "True"},
    {VALUE_BOOL, 0, QUOTED, "True", "True"},
    {VALUE_BOOL, 0, QUOTED, "off", "False"},
    {VALUE_BOOL, 0, ARGUMENT, "true", "True"},
    {VALUE_BOOL, 0, ARGUMENT, "FALSE", "False"},
    {VALUE_BOOL, 0, ARGUMENT, "no", "False"},
    {VALUE_BOOL, 0, ARGUMENT, "1", NULL},
    {VALUE_BOOL, 0, ARGUMENT, "y", NULL},
    {VALUE_BOOL, 0, PLAIN, "0", NULL},
    {VALUE_FLOAT, 0, PLAIN, "5", "5.0"},
    {VALUE_FLOAT, 0, PLAIN, "1e-3", "0.001"},
    {VALUE_FLOAT, 0, PLAIN, "1e400", "inf"},
    {VALUE_FLOAT, 0, PLAIN, ".inf", "inf"},
    {VALUE_FLOAT, 0, QUOTED, "1e-8", "1e-08"},
    {VALUE_FLOAT, 0, ARGUMENT, "nan", "nan"},
    {VALUE_FLOAT, 0, ARGUMENT, "-inf", "-inf"},
    {VALUE_FLOAT, 0, ARGUMENT, "1_0.5", "10.5"},
    {VALUE_FLOAT, 0, ARGUMENT, "-1e-3", "-0.001"},
    {VALUE_FLOAT, 0, ARGUMENT, "9007199254740991", "9007199254740991.0"},
    {VALUE_FLOAT, 0, ARGUMENT, "9007199254740993", NULL},
    {VALUE_FLOAT, 0, ARGUMENT, "", NULL},
    {VALUE_FLOAT, 0, ARGUMENT, "True", NULL},
    {VALUE_FLOAT, 0, ARGUMENT, "infant", NULL},
    {VALUE_STR, 0, PLAIN, "5", "'5'"},
    {VALUE_STR, 0, PLAIN, "010", "'010'"},
    {VALUE_STR, 0, PLAIN, "yes", "'yes'"},
    {VALUE_STR, 0, PLAIN, "1e-3", "'1e-3'"},
    {VALUE_STR, 0, QUOTED, "'5'", "'5'"},
    {VALUE_STR, 0, QUOTED, "None", "'None'"},
    {VALUE_STR, 0, QUOTED, "", "''"},
    {VALUE_STR, 0, PLAIN, "None", "None"},
    {VALUE_STR, 0, PLAIN, "~", "None"},
    {VALUE_STR, 0, ARGUMENT, "None", "None"},
    {VALUE_STR, 0, ARGUMENT, "none", "'none'"},
    {VALUE_STR, 0, ARGUMENT, "null", "'null'"},
    {VALUE_STR, 0, ARGUMENT, "'None'", "'None'"},
    {VALUE_STR, 0, ARGUMENT, "\"a b\"", "'a b'"},
    {VALUE_STR, 0, ARGUMENT, "'it's'", "\"'it's'\""},
    {VALUE_STR, 0, ARGUMENT, "(1, 2)", "'(1, 2)'"},
    {VALUE_STR, 0, ARGUMENT, "", "''"},
    {VALUE_STR, 0, ARGUMENT, " None ", "' None '"},
    /* None for a key of another type: all spellings that Python reads as None */
    {VALUE_INT, 0, ARGUMENT, " None\t", "None"},
    {VALUE_BOOL, 0, ARGUMENT, "(None) # no", "None"},
    {VALUE_FLOAT, 0, QUOTED, "None", "None"},
    {VALUE_LIST, VALUE_INT, QUOTED, " None ", "None"},
    {VALUE_FLOAT, 0, ARGUMENT, "'None'", NULL},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "'None'", NULL},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "['None', \"'5'\", '5']", "['None', \"'5'\", '5']"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "['None', \" None\"]", "['None', ' None']"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "[a, 'None']", "['a', 'None']"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "[a, None]", NULL},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "['a', None]", NULL},
    {VALUE_LIST, VALUE_INT, ARGUMENT, "['None']", NULL},
    {VALUE_TUPLE, VALUE_INT, PLAIN, "(3, 4)", "(3, 4)"},
    {VALUE_TUPLE, VALUE_INT, PLAIN, "3,4", "(3, 4)"},
    {VALUE_TUPLE, VALUE_INT, ARGUMENT, "[3, 4]", "(3, 4)"},
    {VALUE_LIST, VALUE_INT, ARGUMENT, "5,", "[5]"},
    {VALUE_LIST, VALUE_INT, ARGUMENT, "5", NULL},
    {VALUE_LIST, VALUE_FLOAT, ARGUMENT, "[1e-3]", "[0.001]"},
    {VALUE_LIST, VALUE_INT, ARGUMENT, "[1, 2.5]", NULL},
    {VALUE_LIST, VALUE_INT, ARGUMENT, "[1, None]", NULL},
    {VALUE_LIST, VALUE_FLOAT, ARGUMENT, "1,2", "[1.0, 2.0]"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "a,b", "['a', 'b']"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "[a, b*]", "['a', 'b*']"},
    /* as printed by trainc config, with quotes where necessary */
    {VALUE_LIST, VALUE_STR, ARGUMENT, "[a, 'b c']", "['a', 'b c']"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "[ \"b, [c]\" ,a ]", "['b, [c]', 'a']"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "a, 'b\\'c',", "['a', \"b'c\"]"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "['a', 'b']", "['a', 'b']"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "[a, b, ]", "['a', 'b']"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "[a, '']", "['a', '']"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "[a,,b]", NULL},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "a,,", NULL},
    {VALUE_LIST, VALUE_STR, ARGUMENT, ", a", NULL},
    {VALUE_LIST, VALUE_STR, ARGUMENT, ",", NULL},
    {VALUE_LIST, VALUE_INT, ARGUMENT, "[1,,2]", NULL},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "[]", "[]"},
    {VALUE_LIST, VALUE_STR, ARGUMENT, "a", NULL},
};

static void test_texts(void **state)
{
    struct arena mem = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct value in = texts[i].source == PLAIN ? scalar_resolve(&mem, texts[i].text)
                                                   : value_str(&mem, texts[i].text);
        struct value out;
        struct decl d = {.type = texts[i].type, .item = texts[i].item};
        struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;

        in.text = texts[i].text;
        in.quoted = texts[i].source == QUOTED;
        if (coerce(&mem, &d, &in, &out, &why))
            value_add_repr(&got, &out);
        if (strcmp(got.buf, texts[i].want ? texts[i].want : "") != 0)
            fail_msg("row %d: '%s' as %s is %s%s", (int)i, texts[i].text,
                     value_type_name(texts[i].type), got.buf, why.buf);
        strbuf_release(&why);
        strbuf_release(&got);
    }
    arena_release(&mem);
}

static const struct {
    enum value_type type, item;
    const char *text, *why;
} reasons[] = {
    {VALUE_INT, 0, "x", "an int, not 'x'"},
    {VALUE_INT, 0, "3.5", "an int, not 3.5 (a float)"},
    {VALUE_FLOAT, 0, "[1]", "a float, not [1] (a list)"},
    {VALUE_BOOL, 0, "1", "a bool (True or False), not 1 (an int)"},
    {VALUE_LIST, VALUE_INT, "4", "a list of int, not 4 (an int)"},
    {VALUE_LIST, VALUE_INT, "[4, 'a']", "a list: item 1 must be an int, not 'a'"},
};

static void test_reasons(void **state)
{
    struct arena mem = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        struct value in = value_str(&mem, reasons[i].text), out;
        struct decl d = {.type = reasons[i].type, .item = reasons[i].item};
        struct strbuf why = STRBUF_INIT;

        in.text = in.s;
        assert_false(coerce(&mem, &d, &in, &out, &why));
        assert_string_equal(why.buf, reasons[i].why);
        strbuf_release(&why);
    }
    arena_release(&mem);
}

/* Lists of numbers within a list of strings, if the key has them. */
static void test_numbers(void **state)
{
    static const struct {
        bool numbers;
        const char *text, *want;
    } row[] = {
        {true, "[[128, 64, 7], '#804080']", "['128 64 7', '#804080']"},
        {true, "[(1, 2)]", "['1 2']"},
        {true, "[a, b]", "['a', 'b']"},
        {true, "[[1, 'a']]", ""},
        {false, "[[1, 2]]", ""},
    };
    struct arena mem = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct value in = value_str(&mem, row[i].text), out;
        struct decl d = {
            .type = VALUE_LIST, .item = VALUE_STR, .numbers = row[i].numbers};
        struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;

        in.text = in.s;
        strbuf_addstr(&got, "");
        if (coerce(&mem, &d, &in, &out, &why))
            value_add_repr(&got, &out);
        assert_string_equal(got.buf, row[i].want);
        strbuf_release(&got);
        strbuf_release(&why);
    }
    arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
