/* page: escaping, parsing, and that a broken file gives no page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/file.h"
#include "page/chart.h"
#include "page/html.h"
#include "page/page.h"
#include "tests/test.h"

static char dir[] = "/tmp/trainc-page-XXXXXX";

static void put(const char *name, const char *text)
{
    char *path = path_join(dir, name);

    assert_int_equal(atomic_write_file(path, text, strlen(text)), 0);
    free(path);
}

static const char *in_dir(const char *name)
{
    static char path[sizeof(dir) + 32];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static int times(const char *text, const char *what)
{
    int n = 0;

    for (const char *cursor = text; (cursor = strstr(cursor, what));
         cursor += strlen(what))
        n++;
    return n;
}

static void test_escape(void **state)
{
    struct strbuf s = STRBUF_INIT;

    (void)state;
    html_add(&s, "a<b>&\"'\xc3\xa4\xff\x01\n");
    assert_string_equal(s.buf,
                        "a&lt;b&gt;&amp;&quot;&#39;\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\n");
    strbuf_reset(&s);
    html_add(&s,
             "a\xe2\x80\xae\xc2\x9b\x7f\xe2\x81\xa6\xd8\x9c\t\xc3\xa4"); /* bidi, C1 */
    assert_string_equal(s.buf, "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                               "\xef\xbf\xbd\t\xc3\xa4");
    strbuf_reset(&s);
    html_addf(&s, "%s %d", "</script>", 7);
    assert_string_equal(s.buf, "&lt;/script&gt; 7");
    strbuf_release(&s);
}

/* RFC 4648, 10. */
static void test_base64(void **state)
{
    static const char *const rows[][2] = {
        {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
        {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe\xfd", "//79"}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct strbuf s = STRBUF_INIT, want = STRBUF_INIT;

        html_add_data(&s, "image/jpeg", rows[i][0], strlen(rows[i][0]));
        strbuf_addf(&want, "src=\"data:image/jpeg;base64,%s\"", rows[i][1]);
        assert_string_equal(s.buf, want.buf);
        strbuf_release(&s);
        strbuf_release(&want);
    }
}

static void test_numbers_sort(void **state)
{
    struct strbuf s = STRBUF_INIT;

    (void)state;
    html_table_row(&s, (const char *[]){"1e-3", "nan", "", "12 px"}, 4);
    assert_string_equal(s.buf, "<tr><td class=\"n\">1e-3</td><td>nan</td><td></td>"
                               "<td>12 px</td></tr>\n");
    strbuf_release(&s);
}

static void test_csv(void **state)
{
    struct table t;

    (void)state;
    put("a.csv", "name,n\r\n\"a \"\"b\"\", c\",1.5\nd,\n");
    assert_true(table_read(&t, dir, "a.csv"));
    assert_int_equal(t.rows, 3);
    assert_int_equal(t.columns, 2);
    assert_string_equal(table_cell(&t, 1, 0), "a \"b\", c");
    assert_true(table_number(&t, 1, table_column(&t, "n")) == 1.5);
    assert_true(isnan(table_number(&t, 2, 1)));
    assert_string_equal(table_cell(&t, 2, table_column(&t, "m")), "");
    table_release(&t);
    put("a.csv", "name,n\na,1,2\n");
    assert_false(table_read(&t, dir, "a.csv"));
    assert_int_equal(t.rows, 0);
    put("a.csv", "");
    assert_false(table_read(&t, dir, "a.csv"));
    assert_false(table_read(&t, dir, "b.csv"));
}

/* A NaN splits a line in two; without finite values there is no figure. */
static void test_chart(void **state)
{
    double x[] = {1, 2, 3, 4, 5}, y[] = {1, 2, (double)NAN, 4, 8},
           bad[] = {NAN, INFINITY};
    struct curve c = {.name = "a<b", .x = x, .y = y, .n = 5};
    struct curve none = {.name = "none", .x = x, .y = bad, .n = 2};
    struct strbuf s = STRBUF_INIT;

    (void)state;
    assert_true(chart_add(&s, &(struct chart){.title = "loss", .curve = &c, .n = 1}));
    assert_int_equal(times(s.buf, "<polyline"), 2);
    assert_int_equal(times(s.buf, "a&lt;b"), 3);
    assert_null(strstr(s.buf, "nan"));
    assert_null(strstr(s.buf, "inf"));
    /* The first point is at the left edge; its value is 1 on an axis from 0.72 to
     * 8.28. */
    assert_non_null(strstr(s.buf, "points=\"56.0,216.1 179.5,187.8\""));
    strbuf_reset(&s);
    assert_false(chart_add(&s, &(struct chart){.title = "loss", .curve = &none, .n = 1}));
    assert_int_equal(s.len, 0);
    strbuf_release(&s);
}

/* Downsampling a long curve preserves its mean. */
static void test_thin(void **state)
{
    enum { N = 10000 };
    double *x = calloc(N, sizeof(*x)), *y = calloc(N, sizeof(*y));
    struct curve c = {.name = "a", .x = x, .y = y, .n = N};
    struct strbuf s = STRBUF_INIT;
    double low, high;
    const char *axes;

    (void)state;
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = i % 2;
    }
    assert_true(chart_add(&s, &(struct chart){.title = "t", .curve = &c, .n = 1}));
    assert_int_equal(times(s.buf, ",") - 1, 400 - 1);
    axes = strstr(s.buf, "data-axes=\"");
    assert_non_null(axes);
    assert_int_equal(
        sscanf(axes, "data-axes=\"%*s %*s %*s %*s %*s %*s %lf %lf", &low, &high), 2);
    assert_true(low > 0.4 && high < 0.6);
    strbuf_release(&s);
    free(x);
    free(y);
}

/* An axis has a name, and a legend shows the style of each line. */
static void test_legend(void **state)
{
    double x[] = {1, 2}, y[] = {1, 2};
    struct curve c[] = {{.name = "a", .x = x, .y = y, .n = 2},
                        {.name = "b", .x = x, .y = y, .n = 2, .color = 2, .dash = 1}};
    struct legend all = {.name = "of any", .color = -1, .dash = 2};
    struct chart chart = {.title = "loss", .curve = c, .n = 2};
    struct strbuf s = STRBUF_INIT;

    (void)state;
    assert_true(chart_add(&s, &chart));
    assert_non_null(strstr(s.buf, ">steps</text>"));
    assert_non_null(strstr(s.buf, "<i class=\"k0 d0\"></i>a"));
    assert_non_null(strstr(s.buf, "<i class=\"k2 d1\"></i>b"));
    strbuf_reset(&s);
    chart.along = "epochs";
    chart.legend = &all;
    chart.nlegend = 1;
    assert_true(chart_add(&s, &chart));
    assert_non_null(strstr(s.buf, ">epochs</text>"));
    assert_non_null(strstr(s.buf, "<i class=\"d2\"></i>of any"));
    assert_int_equal(times(s.buf, "<i "), 1);
    strbuf_release(&s);
}

static void test_page_number(void **state)
{
    char t[32];

    (void)state;
    assert_string_equal(page_number(t, 0.12345678, 5), "0.12346");
    assert_string_equal(page_number(t, 312500, 5), "312500");
    assert_string_equal(page_number(t, 123456.7, 5), "123457");
    assert_string_equal(page_number(t, 5e-7, 5), "5e-07");
    assert_string_equal(page_number(t, (double)NAN, 5), "");
}

/* Checks that elements are closed in the right order, and that no text is directly in the
 * body, outside of a paragraph or another container. */
static void check_elements(const char *page)
{
    char open[32][16];
    int depth = 0;

    for (const char *cursor = strstr(page, "<html"); cursor && *cursor; cursor++) {
        bool end = cursor[0] == '<' && cursor[1] == '/', alone;
        char name[16] = "";

        if (*cursor != '<') {
            if (depth && !strcmp(open[depth - 1], "body") && !strchr(" \n", *cursor))
                fail_msg("text in the body alone: %.60s", cursor);
            continue;
        }
        (void)sscanf(cursor + 1 + end, "%15[a-z0-9]", name);
        alone = !strcmp(name, "meta") || !strcmp(name, "img") || !strcmp(name, "br");
        cursor = strchr(cursor, '>');
        assert_non_null(cursor);
        if (!strcmp(name, "style") || !strcmp(name, "script")) {
            if (!end)
                cursor = strstr(cursor, "</") - 1;
            continue;
        }
        if (end && (!depth || strcmp(open[depth - 1], name) != 0))
            fail_msg("</%s> closes <%s>", name, depth ? open[depth - 1] : "");
        if (end)
            depth--;
        else if (!alone && cursor[-1] != '/')
            memcpy(open[depth++], name, sizeof(name));
        assert_true(depth < 32);
    }
    assert_int_equal(depth, 0);
}

static void test_run(void **state)
{
    struct strbuf s = STRBUF_INIT, why = STRBUF_INIT;
    struct page_run r[2];

    (void)state;
    assert_false(page_is_run(dir));
    put("metrics.jsonl",
        "{\"kind\":\"train\",\"seq\":2,\"step\":1,\"epoch\":0,\"loss\":2.5}\n"
        "{\"kind\":\"val\",\"seq\":3,\"step\":1,\"epoch\":0,\"val_top1\":50,"
        "\"ema_top1\":null}\n{\"kind\":\"tr");
    put("settings.csv",
        "key,value,default,set by\nTRAIN.BASE_LR,0.1,0.2,<b>\nTAG,x,y,\n");
    put("result.json",
        "{\"exit\":1,\"error\":\"<script>alert(1)</script>\",\"steps\":1}");
    assert_true(page_is_run(dir));
    assert_true(page_run_read(&r[0], dir, "one & two", &why));
    assert_true(page_run_best(&r[0]) == 50);
    assert_true(page_run_loss(&r[0]) == 2.5);
    page_add_run(&s, &r[0]);
    check_elements(s.buf);
    assert_null(strstr(s.buf, "<script>alert"));
    assert_non_null(strstr(s.buf, "&lt;script&gt;alert(1)"));
    assert_non_null(strstr(s.buf, "<title>one &amp; two</title>"));
    assert_non_null(strstr(s.buf, "<td>&lt;b&gt;</td>"));
    assert_null(strstr(s.buf, "http"));
    strbuf_reset(&s);
    put("settings.csv", "key,value,default,set by\nTRAIN.BASE_LR,0.3,0.2,\nTAG,z,y,\n");
    assert_true(page_run_read(&r[1], dir, "other", &why));
    page_add_comparison(&s, r, 2);
    check_elements(s.buf);
    assert_non_null(strstr(s.buf, "<th tabindex=\"0\">TRAIN.BASE_LR</th>"));
    assert_null(strstr(s.buf, ">TAG<"));
    assert_int_equal(times(s.buf, "<tr><td>"), 2);
    page_run_release(&r[0]);
    page_run_release(&r[1]);
    put("metrics.jsonl", "{\"kind\":\"train\"}\nnonsense\n");
    assert_false(page_run_read(&r[0], dir, "bad", &why));
    assert_non_null(strstr(why.buf, "metrics.jsonl', line 2: "));
    strbuf_release(&s);
    strbuf_release(&why);
}

static const char metrics[] =
    "{\"kind\":\"train\",\"step\":1,\"loss\":2.5,\"loss_scale\":1,\"skipped\":0}\n"
    "{\"kind\":\"train\",\"step\":2,\"loss\":1.5,\"loss_scale\":1,\"skipped\":0}\n"
    "{\"kind\":\"val\",\"step\":2,\"val_loss\":2,\"ema_loss\":2,\"val_miou\":0.5,"
    "\"ema_miou\":0.25}\n";

static char *page_of(const struct page_run *r, int n)
{
    struct strbuf s = STRBUF_INIT;

    if (n == 1)
        page_add_run(&s, r);
    else
        page_add_comparison(&s, r, n);
    check_elements(s.buf);
    return s.buf;
}

/* A run has one color each for training, validation, and EMA, the same in every chart;
 * metrics without values have no chart; tables are human-readable. */
static void test_one_run(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct page_run r;
    char *page;

    (void)state;
    put("metrics.jsonl", metrics);
    put("derived.yaml", "device: cpu\nupdates_per_epoch: 2\nupdates: 2\n");
    put("settings.csv", "key,value,default,set by\nOUTPUT,a,b,'--output\n");
    put("result.json", "{\"exit\":0,\"peak_memory_bytes\":1024}");
    put("summary.csv", "epoch,train_loss,val_top5\n0,1.5123456789,\n1,1.25,\n");
    assert_true(page_run_read(&r, dir, "one", &why));
    page = page_of(&r, 1);
    assert_int_equal(times(page, "<i class=\"k2 d1\"></i>validation, EMA weights"), 2);
    assert_int_equal(times(page, "<i class=\"k1 d0\"></i>validation<"), 2);
    assert_int_equal(times(page, "<polyline class=\"c2 p1\""), 2);
    assert_non_null(strstr(page, ">steps (2 per epoch)</text>"));
    assert_null(strstr(page, "<figcaption>loss scale"));
    assert_null(strstr(page, "<figcaption>skipped"));
    assert_null(strstr(page, "of the device"));
    assert_non_null(strstr(page, "<td>--output</td>"));
    assert_non_null(
        strstr(page, "<td class=\"n\">1</td><td class=\"n\">1.5123</td></tr>"));
    assert_null(strstr(page, "val_top5"));
    free(page);
    page_run_release(&r);
    put("derived.yaml", "device: cuda\n");
    put("metrics.jsonl",
        "{\"kind\":\"train\",\"step\":1,\"loss_scale\":2,\"skipped\":1}\n");
    assert_true(page_run_read(&r, dir, "one", &why));
    page = page_of(&r, 1);
    assert_non_null(strstr(page, "device memory"));
    assert_non_null(strstr(page, "<figcaption>loss scale"));
    assert_non_null(strstr(page, "<figcaption>skipped"));
    free(page);
    page_run_release(&r);
    strbuf_release(&why);
}

/* With several runs, a legend lists each run once and each kind of line once. */
static void test_two_runs(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct page_run r[2];
    char *page;

    (void)state;
    put("metrics.jsonl", metrics);
    assert_true(page_run_read(&r[0], dir, "one", &why));
    assert_true(page_run_read(&r[1], dir, "two", &why));
    page = page_of(r, 2);
    assert_non_null(strstr(
        page, "<i class=\"k0 d0\"></i>one</span><span><i class=\"k1 d0\"></i>two</span>"
              "<span><i class=\"d0\"></i>training</span><span><i class=\"d1\"></i>"
              "validation</span><span><i class=\"d2\"></i>validation, EMA weights"
              "</span></div>"));
    assert_null(strstr(page, "best top-1")); /* no run has it */
    assert_non_null(strstr(page, "best mean IoU"));
    free(page);
    page_run_release(&r[0]);
    page_run_release(&r[1]);
    strbuf_release(&why);
}

/* With 64 classes, each cell is drawn and labeled; with 65, there is an image, and the
 * names of the pairs. */
static void test_classes(void **state)
{
    (void)state;
    put("metrics.jsonl",
        "{\"kind\":\"train\",\"seq\":2,\"step\":1,\"epoch\":0,\"loss\":2.5}\n");
    assert_int_equal(mkdir(in_dir("report"), 0700), 0);
    put("report/confusion.png", "fooba");
    put("report/pairs.csv", "label,answer,images,share_of_label\na&b,c,9,0.5\n");
    for (int n = 64; n <= 65; n++) {
        struct strbuf s = STRBUF_INIT, csv = STRBUF_INIT, why = STRBUF_INIT;
        struct page_run r;

        for (int row = 0; row <= n; row++)
            for (int c = 0; c <= n; c++)
                strbuf_addf(&csv, "%s%d%s", c && row ? "" : "class ",
                            c && row ? c == row : c + row, c < n ? "," : "\n");
        put("report/confusion.csv", csv.buf);
        assert_true(page_run_read(&r, dir, "many", &why));
        assert_int_equal(r.confusion.rows, n + 1);
        page_add_run(&s, &r);
        assert_int_equal(times(s.buf, "<p class=\"dim\">65 classes."), n == 65);
        assert_int_equal(times(s.buf, "src=\"data:image/png;base64,Zm9vYmE=\""), n == 65);
        assert_int_equal(times(s.buf, "<td>a&amp;b</td><td>c</td><td class=\"n\">9</td>"),
                         n == 65);
        assert_int_equal(times(s.buf, "<th>class 64</th>"), n == 64 ? 2 : 0);
        assert_int_equal(times(s.buf, "class=\"heat\""), n == 64);
        check_elements(s.buf);
        page_run_release(&r);
        strbuf_release(&s);
        strbuf_release(&csv);
        strbuf_release(&why);
    }
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    static const char *const files[] = {"a.csv",
                                        "metrics.jsonl",
                                        "settings.csv",
                                        "result.json",
                                        "report/confusion.csv",
                                        "report/confusion.png",
                                        "report/pairs.csv",
                                        "derived.yaml",
                                        "summary.csv"};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        char *path = path_join(dir, files[i]);

        (void)unlink(path);
        free(path);
    }
    (void)rmdir(in_dir("report"));
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escape),       cmocka_unit_test(test_base64),
        cmocka_unit_test(test_numbers_sort), cmocka_unit_test(test_csv),
        cmocka_unit_test(test_chart),        cmocka_unit_test(test_thin),
        cmocka_unit_test(test_legend),       cmocka_unit_test(test_page_number),
        cmocka_unit_test(test_run),          cmocka_unit_test(test_classes),
        cmocka_unit_test(test_two_runs),     cmocka_unit_test(test_one_run),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
