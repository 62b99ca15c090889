#include "page/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

static char *read_text(const char *dir, const char *name)
{
    char *path = path_join(dir, name), *text = file_read(path, NULL);

    free(path);
    return text;
}

bool page_is_run(const char *dir)
{
    char *path = path_join(dir, "metrics.jsonl");
    bool is = file_exists(path) && !file_is_dir(path);

    free(path);
    return is;
}

static struct page_series *series_of(struct page_run *r, const char *name)
{
    for (int i = 0; i < r->nseries; i++)
        if (!strcmp(r->series[i].name, name))
            return &r->series[i];
    GROW(r->series, r->nseries, r->series_cap);
    r->series[r->nseries] = (struct page_series){.name = xstrdup(name)};
    return &r->series[r->nseries++];
}

static void add_point(struct page_run *r, const char *name, double x, const json_t *v)
{
    struct page_series *s = series_of(r, name);

    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->x = xrealloc(s->x, (size_t)s->cap * sizeof(*s->x));
        s->y = xrealloc(s->y, (size_t)s->cap * sizeof(*s->y));
    }
    s->x[s->n] = x;
    s->y[s->n++] = json_is_number(v) ? json_number_value(v) : (double)NAN;
}

/* Adds all numbers of a line except seq, step, and epoch, which locate it. */
static void add_line(struct page_run *r, const json_t *line)
{
    const char *kind = json_string_value(json_object_get(line, "kind")), *key;
    double step = json_number_value(json_object_get(line, "step"));
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)line, key, v)
    {
        char *name;

        if ((!json_is_number(v) && !json_is_null(v)) || !strcmp(key, "seq") ||
            !strcmp(key, "step") || !strcmp(key, "epoch"))
            continue;
        name = xasprintf("%s/%s", kind ? kind : "", key);
        add_point(r, name, step, v);
        free(name);
    }
}

static bool read_metrics(struct page_run *r, struct strbuf *why)
{
    char *text = read_text(r->dir, "metrics.jsonl"), *end;
    int number = 1;

    if (!text) {
        strbuf_addf(why, "cannot read '%s/metrics.jsonl'", r->dir);
        return false;
    }
    for (char *line = text; (end = strchr(line, '\n')); line = end + 1, number++) {
        struct strbuf what = STRBUF_INIT;
        json_t *j = json_parse(line, (size_t)(end - line), &what);

        if (!json_is_object(j))
            strbuf_addf(why, "'%s/metrics.jsonl', line %d: %s", r->dir, number,
                        j ? "not a JSON object" : what.buf);
        else
            add_line(r, j);
        strbuf_release(&what);
        json_decref(j);
        if (why->len)
            break;
    }
    free(text); /* a last line without newline, still being written, was not read */
    return !why->len;
}

bool page_run_read(struct page_run *r, const char *dir, const char *name,
                   struct strbuf *why)
{
    struct strbuf unused = STRBUF_INIT;
    char *report = path_join(dir, "report"), *result = path_join(dir, "result.json");

    *r = (struct page_run){.dir = xstrdup(dir), .name = xstrdup(name)};
    r->derived = read_text(dir, "derived.yaml");
    r->result = file_exists(result) ? json_parse_file(result, &unused) : NULL;
    (void)table_read(&r->settings, dir, "settings.csv");
    (void)table_read(&r->model, dir, "model.csv");
    (void)table_read(&r->epochs, dir, "summary.csv");
    (void)table_read(&r->classes, report, "classes.csv");
    (void)table_read(&r->confusion, report, "confusion.csv");
    (void)table_read(&r->pairs, report, "pairs.csv");
    (void)table_read(&r->targets, report, "targets.csv");
    (void)table_read(&r->worst, report, "worst.csv");
    free(report);
    free(result);
    strbuf_release(&unused);
    if (read_metrics(r, why))
        return true;
    page_run_release(r);
    return false;
}

void page_run_release(struct page_run *r)
{
    for (int i = 0; i < r->nseries; i++) {
        free(r->series[i].name);
        free(r->series[i].x);
        free(r->series[i].y);
    }
    free(r->series);
    json_decref(r->result);
    free(r->derived);
    table_release(&r->settings);
    table_release(&r->model);
    table_release(&r->epochs);
    table_release(&r->classes);
    table_release(&r->confusion);
    table_release(&r->pairs);
    table_release(&r->targets);
    table_release(&r->worst);
    free(r->dir);
    free(r->name);
    *r = (struct page_run){0};
}

const struct page_series *page_run_series(const struct page_run *r, const char *name)
{
    for (int i = 0; i < r->nseries; i++)
        if (!strcmp(r->series[i].name, name))
            return &r->series[i];
    return NULL;
}

double page_run_number(const struct page_run *r, const char *key)
{
    const json_t *v = json_object_get(r->result, key);

    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

/* The last row is for runs that have none of the scores. */
static const struct page_score page_scores[] = {
    {"miou", "best mean IoU", 2}, {"map", "best mAP", 3},          {"r2", "best R2", 4},
    {"kappa", "best kappa", 5},   {"top1", "best accuracy, %", 1},
};

const struct page_score *page_run_score(const struct page_run *r)
{
    for (size_t i = 0; i < sizeof(page_scores) / sizeof(page_scores[0]) - 1; i++)
        for (int ema = 0; ema < 2; ema++) {
            char *name = xasprintf("val/%s_%s", ema ? "ema" : "val", page_scores[i].name);
            bool has = page_run_series(r, name) != NULL;

            free(name);
            if (has)
                return &page_scores[i];
        }
    return &page_scores[sizeof(page_scores) / sizeof(page_scores[0]) - 1];
}

double page_run_best(const struct page_run *r)
{
    static const char *const weights[] = {"val", "ema"};
    double best = (double)NAN;

    for (int i = 0; i < 2; i++) {
        char *name = xasprintf("val/%s_%s", weights[i], page_run_score(r)->name);
        const struct page_series *s = page_run_series(r, name);

        for (int k = 0; s && k < s->n; k++)
            best = s->y[k] <= best ? best : isnan(s->y[k]) ? best : s->y[k];
        free(name);
    }
    return best;
}

double page_run_loss(const struct page_run *r)
{
    const struct page_series *s = page_run_series(r, "train/loss");

    return s && s->n ? s->y[s->n - 1] : (double)NAN;
}

const char *page_run_derived(const struct page_run *r, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = r->derived; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, len) && !strncmp(line + len, ": ", 2))
            return line + len + 2;
    }
    return "";
}

bool page_run_on_device(const struct page_run *r)
{
    const char *device = page_run_derived(r, "device");

    return strncmp(device, "cpu\n", 4) != 0 && strncmp(device, "ref\n", 4) != 0;
}

const char *page_run_setting(const struct page_run *r, const char *key)
{
    int name = table_column(&r->settings, "key"),
        value = table_column(&r->settings, "value");

    for (int i = 1; i < r->settings.rows; i++)
        if (!strcmp(table_cell(&r->settings, i, name), key))
            return table_cell(&r->settings, i, value);
    return "";
}
