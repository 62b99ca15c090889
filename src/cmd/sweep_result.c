/* The files of a run in a sweep: its result, its log, its arguments. */
#include "cmd/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "io/json.h"

char *sweep_path(const struct sweep *s, int run, int rung, const char *end)
{
    const char *name = s->grid.run[run].name;

    return rung < s->halvings ? xasprintf("%s/%s.%d%s", s->dir, name, rung + 1, end)
                              : xasprintf("%s/%s%s", s->dir, name, end);
}

static bool number_of(json_t *o, const char *key, double *dst)
{
    json_t *v = json_object_get(o, key);

    if (!json_is_number(v))
        return false;
    *dst = json_number_value(v);
    return true;
}

/* True if smaller values are better. */
static bool is_loss(const char *metric)
{
    return strcasestr(metric, "loss") != NULL;
}

static void read_score(struct sweep *s, struct outcome *o, json_t *result)
{
    static const char *const first[] = {"best_top1", "best_miou", "best_class_acc",
                                        "best_loss", "val_loss",  NULL};

    o->score = o->value = (double)NAN;
    for (int i = 0; !s->metric && first[i]; i++) {
        if (!number_of(result, first[i], &o->value))
            continue;
        s->metric = first[i];
    }
    if (s->metric && number_of(result, s->metric, &o->value))
        o->score = is_loss(s->metric) ? -o->value : o->value;
}

bool sweep_read_result(struct sweep *s, int run, int rung)
{
    struct outcome *o = &s->outcome[run];
    char *path = sweep_path(s, run, rung, ".json");
    json_t *result = json_load_file(path, 0, NULL);
    double code = -1, steps = 0;
    bool well = result && number_of(result, "exit", &code) && code == 0;

    if (result) {
        read_score(s, o, result);
        if (number_of(result, "steps", &steps))
            o->steps = (int64_t)steps;
    }
    json_decref(result);
    free(path);
    return well;
}

static char *args_of(const struct sweep *s, int run)
{
    struct strbuf t = STRBUF_INIT;

    if (s->halvings)
        strbuf_addf(&t, "halving %d\n", s->halvings);
    for (int i = 0; i < s->ngiven; i++)
        strbuf_addf(&t, "%s\n", s->given[i]);
    for (int i = 0; i < s->grid.run[run].nword; i++)
        strbuf_addf(&t, "%s\n", s->grid.run[run].word[i]);
    return strbuf_detach(&t);
}

bool sweep_args_same(const struct sweep *s, int run)
{
    char *path = sweep_path(s, run, s->halvings, ".args"), *new_args = args_of(s, run);
    size_t len;
    char *old = file_read(path, &len);
    bool same = old && !strcmp(new_args, old);

    free(old);
    free(new_args);
    free(path);
    return same;
}

/* Deletes results made with different arguments, including those of rungs that this sweep
 * does not have. */
static void drop_results(const struct sweep *s, int run)
{
    for (int rung = 0; rung <= SWEEP_HALVINGS; rung++) {
        char *path = rung
                         ? xasprintf("%s/%s.%d.json", s->dir, s->grid.run[run].name, rung)
                         : xasprintf("%s/%s.json", s->dir, s->grid.run[run].name);

        (void)unlink(path);
        free(path);
    }
}

void sweep_args_write(const struct sweep *s, int run)
{
    char *path = sweep_path(s, run, s->halvings, ".args"), *text = args_of(s, run);

    if (!sweep_args_same(s, run))
        drop_results(s, run);
    if (atomic_write_file(path, text, strlen(text)))
        die("cannot write '%s': %s", path, strerror(errno));
    free(text);
    free(path);
}

/* Prefers the last line with "error: ". */
char *sweep_last_line(const struct sweep *s, int run, int rung)
{
    char *path = sweep_path(s, run, rung, ".log"), *text, *line = NULL, *save = NULL;
    size_t len;

    text = file_read(path, &len);
    for (char *cursor = text ? strtok_r(text, "\n", &save) : NULL; cursor;
         cursor = strtok_r(NULL, "\n", &save))
        if (!line || strstr(cursor, "error: ") || !strstr(line, "error: "))
            line = cursor;
    line = xstrdup(line ? line : "its log is empty");
    free(text);
    free(path);
    return line;
}

int64_t sweep_updates(const struct sweep *s, int run)
{
    int64_t updates = 0;
    char **model;
    int n;

    model = dir_list(s->output, &n);
    for (int i = 0; i < n && !updates; i++) {
        char *path = xasprintf("%s/%s/%s/derived.yaml", s->output, model[i],
                               s->grid.run[run].name);
        size_t len;
        char *text = file_read(path, &len);
        const char *cursor = text ? strstr(text, "\nupdates: ") : NULL;

        if (cursor)
            updates = strtoll(cursor + 10, NULL, 10);
        free(text);
        free(path);
    }
    if (n >= 0)
        dir_list_free(model, n);
    return updates;
}
