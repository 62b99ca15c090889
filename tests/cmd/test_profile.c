/*
 * trainc profile on synthetic data: its tables add up, and a viewer can draw its trace.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "io/json.h"
#include "tests/cmd/verb_run.h"
#include "tests/test.h"

enum { UPDATES = 3, GROUP = 4, BATCH = 8, LANES = 16 };

static char dir[] = "/tmp/trainc-profile-XXXXXX";
static char *json_path, *trace_path;

static json_t *read_json(const char *path)
{
    struct strbuf why = STRBUF_INIT;
    json_t *j = json_parse_file(path, &why);

    if (!j)
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    return j;
}

static double number(const json_t *j, const char *key)
{
    const json_t *v = json_object_get(j, key);

    if (!json_is_number(v))
        fail_msg("%s is no number", key);
    return json_number_value(v);
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    if (!s)
        fail_msg("%s is no text", key);
    return s;
}

static int profile(const char *device)
{
    return RUN(&cmd_profile, "--cfg", "configs/smoke/synthetic.yaml", "--device", device,
               "--accumulation-steps", "4", "--trace", trace_path, "--json", json_path,
               "--steps", "3", "--workers", "2", "--opts", "CUDNN.CACHE=");
}

static void assert_near(double a, double b, double share)
{
    if (!(fabs(a - b) <= share * fabs(b)))
        fail_msg("%g is not %g", a, b);
}

/* Checks that each node and layer counts once per execution in an update. */
static double check_steps(const json_t *j, double *all_runs)
{
    double runs = 0;
    const json_t *steps = json_object_get(j, "steps"), *s, *l;
    double sum = 0, layers = 0, convs = 0, once = 0;
    size_t i;

    json_array_foreach(steps, i, s)
    {
        double times = number(s, "times_an_update"), ms = number(s, "ms");

        assert_true(ms >= 0);
        assert_true(number(s, "bytes") >= 0);
        assert_near(number(s, "gflop_per_second"), number(s, "flops") / ms * 1e-6, 1e-9);
        assert_near(number(s, "gb_per_second"), number(s, "bytes") / ms * 1e-6, 1e-9);
        /* Micro-batch nodes run for all batches but the last. */
        assert_true(fabs(times - (GROUP - 1)) < 1e-9 || fabs(times - 1) < 1e-9);
        runs += times;
        sum += times * ms;
        once += !strcmp(text(s, "phase"), "update");
        if (!strcmp(text(s, "layer"), "conv1") && !strcmp(text(s, "phase"), "forward"))
            convs += times;
    }
    assert_near(convs, GROUP, 1e-9);
    assert_true(once > 0);
    json_array_foreach(json_object_get(j, "layers"), i, l) layers +=
        number(l, "forward_ms") + number(l, "backward_ms") + number(l, "update_ms");
    assert_near(layers, sum, 1e-9);
    *all_runs = runs;
    return sum;
}

/* Sorted by lost time, largest first. */
static void check_worst(const json_t *j)
{
    const json_t *worst = json_object_get(j, "worst"), *s;
    double last = INFINITY;
    size_t i;

    assert_int_equal(json_array_size(worst), 10);
    json_array_foreach(worst, i, s)
    {
        double lost =
            (number(s, "ms") - number(s, "floor_ms")) * number(s, "times_an_update");

        assert_true(lost <= last);
        last = lost;
    }
}

static void check_figures(const json_t *j, double *runs)
{
    const json_t *data = json_object_get(j, "data"), *us;
    double sum = check_steps(j, runs);

    assert_int_equal(number(j, "updates"), UPDATES);
    assert_true(number(j, "bandwidth") > 1e8);
    assert_true(number(j, "flop_per_second") > 1e8);
    assert_near(number(j, "images_per_second"),
                1e3 * BATCH * GROUP / number(j, "update_ms_median"), 1e-6);
    assert_true(sum > 0);
    assert_int_equal(number(data, "images"), UPDATES * GROUP * BATCH);
    assert_true(number(data, "wait_share") >= 0 && number(data, "wait_share") <= 1);
    us = json_object_get(data, "us_an_image");
    assert_true(number(us, "read") > 0 && number(us, "decode") > 0);
}

struct span {
    double begin, end;
    const char *category;
};

struct lane {
    char name[64];
    struct span open[8];
    int depth, spans, updates, waits, images, stages;
};

/* Checks that the span lies within the open one or starts after it, and that its kind may
 * be nested there. */
static void take_span(struct lane *l, const json_t *e)
{
    static const char *const inside[][2] = {
        {"data", "step"},   {"program", "step"}, {"forward", "program"},
        {"image", "batch"}, {"stage", "image"},
    };
    struct span s = {number(e, "ts"), number(e, "ts") + number(e, "dur"), text(e, "cat")};

    assert_true(s.begin >= 0 && s.end >= s.begin);
    while (l->depth && l->open[l->depth - 1].end <= s.begin + 1e-6)
        l->depth--;
    if (l->depth && s.end > l->open[l->depth - 1].end + 1e-6)
        fail_msg("%s at %f ends after what it lies in", text(e, "name"), s.begin);
    assert_true(l->depth < 8);
    for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++)
        if (!strcmp(s.category, inside[i][0]) && !strstr(l->name, "separately"))
            assert_true(l->depth &&
                        !strcmp(l->open[l->depth - 1].category, inside[i][1]));
    l->open[l->depth++] = s;
    l->spans++;
    l->updates += !strncmp(text(e, "name"), "step ", 5);
    l->waits += !strcmp(text(e, "name"), "wait for data");
    l->images += !strcmp(s.category, "image");
    l->stages += !strcmp(s.category, "stage");
}

static int by_time(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    double u = number(x, "ts"), v = number(y, "ts");

    if (u != v)
        return u < v ? -1 : 1;
    u = number(x, "dur");
    v = number(y, "dur");
    return (u < v) - (u > v);
}

static void read_trace(struct lane *lane, json_t *t)
{
    json_t *events = json_object_get(t, "traceEvents"), *e;
    json_t **span = calloc(json_array_size(events), sizeof(*span));
    size_t n = 0, i;

    json_array_foreach(events, i, e)
    {
        int tid = (int)number(e, "tid");

        assert_in_range(tid, 1, LANES - 1);
        assert_int_equal(number(e, "pid"), 1);
        if (!strcmp(text(e, "ph"), "X"))
            span[n++] = e;
        else if (!strcmp(text(e, "name"), "thread_name"))
            (void)snprintf(lane[tid].name, sizeof(lane->name), "%s",
                           text(json_object_get(e, "args"), "name"));
    }
    qsort(span, n, sizeof(*span), by_time);
    for (i = 0; i < n; i++)
        take_span(&lane[(int)number(span[i], "tid")], span[i]);
    free(span);
}

/* `runs`: executed nodes per update. */
static void check_trace(const json_t *figures, bool host, double runs)
{
    struct lane lane[LANES] = {0};
    json_t *t = read_json(trace_path);
    int steps = (int)json_array_size(json_object_get(figures, "steps")), images = 0;

    read_trace(lane, t);
    assert_string_equal(lane[1].name, "training");
    assert_int_equal(lane[1].updates, UPDATES);
    assert_int_equal(lane[1].waits, UPDATES * GROUP);
    assert_int_equal(lane[1].spans,
                     UPDATES * (1 + 2 * GROUP) + (host ? (int)lrint(UPDATES * runs) : 0));
    assert_int_equal(lane[2].spans, host ? 0 : steps);
    for (int i = 3; i < 5; i++) {
        assert_true(!lane[i].spans || strstr(lane[i].name, "loader worker "));
        images += lane[i].images;
        assert_true(lane[i].stages >= 4 * lane[i].images);
    }
    assert_true(images >= UPDATES * GROUP * BATCH);
    assert_int_equal(lane[5].spans, 0);
    json_decref(t);
}

static void test_profile(void **state)
{
    const char *device = getenv("PROFILE_DEVICE") ? getenv("PROFILE_DEVICE") : "cpu";
    bool host = !strcmp(device, "cpu");
    double runs;
    json_t *j;

    (void)state;
    assert_int_equal(profile(device), 0);
    j = read_json(json_path);
    assert_string_equal(text(j, "device"), device);
    check_figures(j, &runs);
    check_worst(j);
    check_trace(j, host, runs);
    assert_true(json_is_array(json_object_get(j, "advice")));
    json_decref(j);
}

static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(RUN(&cmd_profile, "--cfg", "configs/smoke/synthetic.yaml", "--trace",
                         "/nowhere/t.json"),
                     2);
    assert_int_equal(RUN(&cmd_profile, "--cfg", "configs/smoke/shapes.yaml"), 2);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    json_path = path_join(dir, "p.json");
    trace_path = path_join(dir, "t.json");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(json_path);
    (void)unlink(trace_path);
    free(json_path);
    free(trace_path);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_profile),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
