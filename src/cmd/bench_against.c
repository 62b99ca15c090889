#include "cmd/bench_against.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "io/json.h"

static const char speed[] = "images_per_second";

/* Two results are comparable only if they agree on these keys (where both have them). */
static const char *const same[] = {"model", "device", "dtype", "batch", "size", "height"};

static bool has_speed(const json_t *j)
{
    return json_number_value(json_object_get(j, speed)) > 0;
}

static bool has_figures(const json_t *j)
{
    return has_speed(j) || json_array_size(json_object_get(j, "steps")) > 0;
}

/* Returns NULL, with the reason in `why`, if the text is not a result. */
static json_t *read_result(const char *text, const char *name, struct strbuf *why)
{
    json_t *j = json_parse(text, strlen(text), why);

    if (j && (!json_is_object(j) || !has_figures(j))) {
        strbuf_addf(why,
                    "'%s' is not a result of trainc bench or train: it has neither a "
                    "positive %s nor steps",
                    name, speed);
        json_decref(j);
        return NULL;
    }
    return j;
}

static void check_file(const char *flag, const char *path, struct problems *p)
{
    struct strbuf why = STRBUF_INIT;
    char *text = file_read(path, NULL);
    json_t *j = text ? read_result(text, path, &why) : NULL;

    if (!text)
        problems_error(p, flag, "cannot read '%s'", path);
    else if (!j)
        problems_error(p, flag, "'%s': %s", path, why.buf);
    json_decref(j);
    free(text);
    strbuf_release(&why);
}

void bench_against_check(const struct cmdline *line, struct problems *p)
{
    static const char *const only[] = {"--min-ratio", "--measured"};
    const char *before = cmdline_value(line, "--against");
    const char *now = cmdline_value(line, "--measured");

    for (size_t i = 0; i < sizeof(only) / sizeof(*only); i++)
        if (!before && cmdline_has(line, only[i]))
            problems_error(p, only[i], "has no effect without --against");
    if (before)
        check_file("--against", before, p);
    if (before && now)
        check_file("--measured", now, p);
}

static void add_value(struct strbuf *s, const json_t *v)
{
    if (json_is_string(v))
        strbuf_addstr(s, json_string_value(v));
    else
        json_add_double(s, json_number_value(v));
}

static void check_same(const json_t *now, const char *now_name, const json_t *before,
                       const char *before_name)
{
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        const json_t *a = json_object_get(now, same[i]);
        const json_t *b = json_object_get(before, same[i]);
        struct strbuf s = STRBUF_INIT, t = STRBUF_INIT;

        if (!a || !b || json_equal(a, b))
            continue;
        add_value(&s, a);
        add_value(&t, b);
        usage("--against: cannot compare results: %s has %s %s, but '%s' has %s",
              now_name, same[i], s.buf, before_name, t.buf);
    }
}

static const char *text_of(const json_t *step, const char *key)
{
    const char *text = json_string_value(json_object_get(step, key));

    return text ? text : "";
}

static bool is_step(const json_t *a, const json_t *b)
{
    return !strcmp(text_of(a, "row"), text_of(b, "row")) &&
           !strcmp(text_of(a, "dtype"), text_of(b, "dtype")) &&
           json_equal(json_object_get(a, "ops"), json_object_get(b, "ops"));
}

/* Returns the matching step of the other list (the k-th match of the k-th equal step), or
 * NULL if there is none. */
static const json_t *find_step(const json_t *list, size_t index, const json_t *other)
{
    const json_t *step = json_array_get(list, index), *s;
    size_t like = 0, i;

    for (i = 0; i < index; i++)
        like += is_step(json_array_get(list, i), step);
    json_array_foreach(other, i, s) if (is_step(s, step) && !like--) return s;
    return NULL;
}

static double ms_of(const json_t *step)
{
    return json_number_value(json_object_get(step, "ms"));
}

/* Prints the steps that are too slow and returns their number. */
static int compare_steps(const json_t *now, const json_t *before, double least,
                         double *worst)
{
    const json_t *step, *old;
    size_t i;
    int below = 0, missing = 0;

    json_array_foreach(now, i, step)
    {
        double ratio;

        old = find_step(now, i, before);
        missing += old == NULL;
        if (!old)
            continue;
        ratio = ms_of(old) / ms_of(step);
        if (i == 0 || !(ratio >= *worst))
            *worst = ratio;
        if (ratio >= least)
            continue;
        below++;
        say("%s, %s, %s: %.4f ms, before %.4f ms: ratio %.3f\n", text_of(step, "row"),
            text_of(step, "dtype"), text_of(step, "kernel"), ms_of(step), ms_of(old),
            ratio);
    }
    if (missing == (int)json_array_size(now))
        usage("--against: the two results have no kernel call in common");
    if (missing)
        say("%d new kernel calls were not compared\n", missing);
    return below;
}

static void compare_speed(const json_t *now, const json_t *before,
                          const char *before_name, double least)
{
    double a = json_number_value(json_object_get(now, speed));
    double b = json_number_value(json_object_get(before, speed)), ratio = a / b;

    say("%.1f img/s, before %.1f ('%s'): ratio %.3f\n", a, b, before_name, ratio);
    if (!(ratio >= least))
        die("%.1f img/s is only %.3f times the %.1f img/s of '%s', below --min-ratio %g",
            a, ratio, b, before_name, least);
}

void bench_against(const char *now_text, const char *now_name, const char *before_name,
                   double least)
{
    struct strbuf why = STRBUF_INIT;
    char *text = file_read(before_name, NULL);
    json_t *before = text ? read_result(text, before_name, &why) : NULL;
    json_t *now = before ? read_result(now_text, now_name, &why) : NULL;
    double worst = 0;
    int below;

    if (!before || !now)
        die("--against '%s': %s", before_name, text ? why.buf : "cannot be read");
    check_same(now, now_name, before, before_name);
    if (has_speed(now) != has_speed(before))
        usage("--against: only one of %s and '%s' is a result of --ops", now_name,
              before_name);
    if (has_speed(now)) {
        compare_speed(now, before, before_name, least);
    } else {
        below = compare_steps(json_object_get(now, "steps"),
                              json_object_get(before, "steps"), least, &worst);
        if (below)
            die("%d kernel calls are below %g times their speed in '%s' (--min-ratio)",
                below, least, before_name);
        say("no kernel call is below the ratio %g (lowest: %.3f)\n", least, worst);
    }
    json_decref(now);
    json_decref(before);
    free(text);
    strbuf_release(&why);
}
