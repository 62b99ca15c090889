/* base: memory, strings, the map, the log, and program exit. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "tests/child.h"
#include "tests/test.h"

static char dir[] = "/tmp/trainc-test-XXXXXX";

static void end_as_programs_do(void *arg)
{
    void (*const *fn)(void *) = arg;

    error_at_exit(NULL, NULL);
    (*fn)(NULL);
}

/* Checks that fn ends the program with this code and prints only `want`. */
static void check_ends(void (*fn)(void *arg), int code, const char *want)
{
    int got;
    char *said = child_run(end_as_programs_do, &fn, &got);

    assert_int_equal(got, code);
    assert_string_equal(said, want);
    free(said);
}

/* --- memory --- */

static void test_alloc(void **state)
{
    char *s = xasprintf("%d-%s", 7, "x"), *copy = xmemdup(s, 2);
    unsigned char *aligned = xalloc_aligned(100);
    int *v = NULL, n = 0, cap = 0;

    (void)state;
    assert_string_equal(s, "7-x");
    assert_memory_equal(copy, "7-", 2);
    assert_int_equal((uintptr_t)aligned % 64, 0);
    for (int i = 0; i < 128; i++) /* the rest of the cache line is zero */
        assert_int_equal(aligned[i], 0);
    for (int i = 0; i < 1000; i++) {
        GROW(v, n, cap);
        v[n++] = i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v[i], i);
    free(s);
    free(copy);
    free(aligned);
    free(v);
    s = xstrndup("abc", 2);
    assert_string_equal(s, "ab");
    free(s);
    s = xmalloc(0); /* not NULL */
    assert_non_null(s);
    free(s);
}

static void ask_too_much(void *arg)
{
    (void)arg;
    free(xcalloc(SIZE_MAX / 2, 3));
}

static void test_alloc_overflow(void **state)
{
    (void)state;
    check_ends(ask_too_much, EXIT_FAILED,
               "trainc: error: out of memory: cannot allocate 9223372036854775807 times "
               "3 bytes\n");
}

static void test_arena(void **state)
{
    struct arena a = {0};
    unsigned char *p[1000];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        size_t size = i == 500 ? 1 << 20 : (size_t)(i % 300);

        p[i] = arena_new(&a, size);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(p[i][k], 0);
        memset(p[i], i & 255, size);
    }
    for (int i = 0; i < 1000; i++)
        for (int k = 0; k < i % 300; k++)
            assert_int_equal(p[i][k], i & 255);
    assert_string_equal(arena_strdup(&a, "abc"), "abc");
    assert_string_equal(arena_printf(&a, "%s.%d", "layer1", 2), "layer1.2");
    assert_memory_equal(arena_copy(&a, "xyz", 3), "xyz", 3);
    arena_release(&a);
    assert_null(a.block);
    arena_release(&a);
}

/* --- strings --- */

static void test_strbuf(void **state)
{
    struct strbuf s = STRBUF_INIT;
    char *text;

    (void)state;
    assert_string_equal(s.buf, "");
    strbuf_reset(&s);
    for (int i = 0; i < 1000; i++)
        strbuf_addch(&s, (char)('a' + i % 26));
    assert_int_equal(s.len, 1000);
    assert_int_equal(s.buf[999], 'a' + 999 % 26);
    assert_int_equal(s.buf[1000], 0);
    strbuf_reset(&s);
    assert_string_equal(s.buf, "");
    strbuf_addf(&s, "%0500d|%s", 1, "x");
    assert_int_equal(s.len, 502);
    assert_string_equal(s.buf + 499, "1|x");
    strbuf_reset(&s);
    strbuf_add(&s, "a\0b", 3);
    strbuf_addstr(&s, "c");
    assert_memory_equal(s.buf, "a\0bc", 5);
    text = strbuf_detach(&s);
    assert_memory_equal(text, "a\0bc", 5);
    assert_string_equal(s.buf, "");
    free(text);
    text = strbuf_detach(&s); /* for an empty one: the caller's own string */
    assert_string_equal(text, "");
    free(text);
    strbuf_release(&s);
    strbuf_addstr(&s, "again");
    assert_string_equal(s.buf, "again");
    strbuf_release(&s);
}

static void test_strbuf_figures(void **state)
{
    static const struct {
        long long value;
        const char *want;
    } grouped[] = {{0, "0"},
                   {-5, "-5"},
                   {999, "999"},
                   {1000, "1,000"},
                   {-999, "-999"},
                   {-1000, "-1,000"},
                   {25557032, "25,557,032"},
                   {LLONG_MIN, "-9,223,372,036,854,775,808"}};
    static const struct {
        double value;
        const char *want;
    } bytes[] = {{0, "0 B"},          {1023, "1023 B"},   {1024, "1.0 KiB"},
                 {1536, "1.5 KiB"},   {1e6, "976.6 KiB"}, {3.5 * 1073741824, "3.5 GiB"},
                 {2e15, "1819.0 TiB"}},
      duration[] = {{0, "00:00"},    {59.4, "00:59"},   {59.6, "01:00"},
                    {3599, "59:59"}, {3600, "1:00:00"}, {360061, "100:01:01"}};
    struct strbuf s = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(grouped) / sizeof(grouped[0]); i++) {
        strbuf_reset(&s);
        strbuf_add_grouped(&s, grouped[i].value);
        assert_string_equal(s.buf, grouped[i].want);
    }
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        strbuf_reset(&s);
        strbuf_add_bytes(&s, bytes[i].value);
        assert_string_equal(s.buf, bytes[i].want);
    }
    for (size_t i = 0; i < sizeof(duration) / sizeof(duration[0]); i++) {
        strbuf_reset(&s);
        strbuf_add_duration(&s, duration[i].value);
        assert_string_equal(s.buf, duration[i].want);
    }
    strbuf_release(&s);
}

static void test_strmap(void **state)
{
    struct strmap m = {0};
    int value[10000];
    char key[32];

    (void)state;
    assert_null(strmap_get(&m, "a"));
    assert_false(strmap_has(&m, "a"));
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(key, sizeof(key), "layer%d.weight", i);
        assert_false(strmap_has(&m, key));
        strmap_put(&m, key, &value[i]);
    }
    assert_int_equal(m.n, 10000);
    for (int i = 0; i < 10000; i += 3) {
        (void)snprintf(key, sizeof(key), "layer%d.weight", i);
        strmap_put(&m, key, NULL);
    }
    assert_int_equal(m.n, 10000);
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(key, sizeof(key), "layer%d.weight", i);
        assert_true(strmap_has(&m, key));
        assert_ptr_equal(strmap_get(&m, key), i % 3 ? &value[i] : NULL);
        assert_string_equal(m.entry[i].key, key); /* in insertion order */
    }
    assert_false(strmap_has(&m, "layer10000.weight"));
    assert_false(strmap_has(&m, ""));
    strmap_put(&m, "", value);
    assert_ptr_equal(strmap_get(&m, ""), value);
    strmap_release(&m);
    assert_int_equal(m.n, 0);
    assert_null(strmap_get(&m, "layer1.weight"));
}

/* --- log --- */

static void *log_lines(void *arg)
{
    for (int i = 0; i < 200; i++) {
        log_info("%s line %d of a thread", (const char *)arg, i);
        log_once("the same for all");
    }
    return NULL;
}

static void log_in_threads(void *arg)
{
    static char name[4][8] = {"one", "two", "three", "four"};
    pthread_t thread[4];

    log_info("said early");
    log_open(arg);
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread[i], NULL, log_lines, name[i]))
            _exit(1);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(thread[i], NULL);
    log_level_set(LOG_WARNING);
    log_debug("nowhere");
    log_info("file only");
    log_warning("both");
    log_close();
    exit(0);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (const char *s = text; (s = strstr(s, what)); s++)
        n++;
    return n;
}

/* Escapes, C1 controls as a character and as a byte, bidi controls, invalid UTF-8. */
static void test_one_line(void **state)
{
    static const char *const row[][2] = {
        {"a\x1b[31mb\a\n\x7f", "a?[31mb???"},
        {"\xc2\x9b"
         "31m \x9b"
         "31m",
         "?31m ?31m"},
        {"x\xe2\x80\xaey\xe2\x80\xa8z\xe2\x81\xa6", "x?y?z?"},
        {"\xc3\xa9\xe6\x97\xa5\xf0\x9f\x90\xb1", "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x90\xb1"},
        {"\xe6\x97", "??"},
        {"a\xd8\x9c"
         "b\xef\xbb\xbf"
         "c",
         "a?b?c"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        char *text = xstrdup(row[i][0]);

        one_line(text);
        assert_string_equal(text, row[i][1]);
        free(text);
    }
}

static void test_log(void **state)
{
    char *path = path_join(dir, "log.txt"), *text;
    int code;
    char *err = child_run(log_in_threads, path, &code);

    (void)state;
    assert_int_equal(code, 0);
    text = file_read(path, NULL);
    assert_non_null(text);
    assert_int_equal(count(text, "\n"), 804);
    assert_int_equal(count(text, " said early\n"), 1);
    assert_int_equal(count(text, " of a thread\n"), 800);
    assert_int_equal(count(text, "three line 199 of"), 1);
    assert_int_equal(count(text, "the same for all"), 1);
    assert_int_equal(count(text, "nowhere"), 0);
    assert_int_equal(count(text, "file only"), 1);
    assert_int_equal(count(text, "warning: both"), 1);
    assert_int_equal(count(err, "\n"), 803);
    assert_int_equal(count(err, "file only"), 0);
    assert_int_equal(count(err, "warning: both\n"), 1);
    assert_true(text[4] == '-' && text[10] == ' ' && text[13] == ':' && text[19] == ' ');
    (void)unlink(path);
    free(err);
    free(text);
    free(path);
}

/* --- exit --- */

static void leave_die(void *arg)
{
    warn("first %d", 1);
    die("cannot open '%s'", arg ? "y" : "x");
}

/* What a name may contain: a line break, a terminal escape, UTF-8. */
static void leave_odd_name(void *arg)
{
    (void)arg;
    log_warning("a\nb");
    die("cannot open '%s'", "a\nb\033[31m\177\303\251");
}

static void leave_usage(void *arg)
{
    (void)arg;
    usage("no such key");
}

static void handler(const char *message, int code, void *arg)
{
    (void)fprintf(stderr, "handler: %s %d %s\n", message, code, (const char *)arg);
    die("in the handler");
}

static void leave_handler(void *arg)
{
    static char text[] = "arg";

    (void)arg;
    error_at_exit(handler, text);
    warn("not for the handler");
    usage("bad");
}

/* Like a driver that frees memory which other threads use. */
static void pull_the_rug(void)
{
    abort();
}

static void leave_with_threads(void *arg)
{
    (void)arg;
    (void)atexit(pull_the_rug);
    die("at once");
}

static void leave_bug(void *arg)
{
    (void)arg;
    BUG("impossible: %d", 3);
}

static void test_leaving(void **state)
{
    (void)state;
    check_ends(leave_die, EXIT_FAILED,
               "trainc: warning: first 1\ntrainc: error: cannot open 'x'\n");
    check_ends(leave_odd_name, EXIT_FAILED,
               "warning: a?b\ntrainc: error: cannot open 'a?b?[31m?\303\251'\n");
    check_ends(leave_usage, EXIT_USAGE, "trainc: error: no such key\n");
    check_ends(leave_handler, EXIT_FAILED,
               "trainc: warning: not for the handler\ntrainc: error: bad\n"
               "handler: bad 2 arg\ntrainc: error: in the handler\n");
    check_ends(leave_with_threads, EXIT_FAILED, "trainc: error: at once\n");
    check_leaves(leave_bug, NULL, CHILD_SIGNAL + SIGABRT,
                 "trainc: BUG: tests/base/test_base.c:");
    check_leaves(leave_bug, NULL, CHILD_SIGNAL + SIGABRT, ": impossible: 3\n");
}

static void test_clock(void **state)
{
    double a = clock_now(), b = clock_now();

    (void)state;
    if (!(b >= a && b - a < 60))
        fail();
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_alloc),          cmocka_unit_test(test_alloc_overflow),
        cmocka_unit_test(test_arena),          cmocka_unit_test(test_strbuf),
        cmocka_unit_test(test_strbuf_figures), cmocka_unit_test(test_strmap),
        cmocka_unit_test(test_one_line),       cmocka_unit_test(test_log),
        cmocka_unit_test(test_leaving),        cmocka_unit_test(test_clock),
    };

    return cmocka_run_group_tests(test, setup, teardown);
}
