#include "train/data_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "session/task_config.h"

bool data_order_reads(const struct config *cfg, const char *key)
{
    return cfg->model.task == TASK_ORDINAL && !strcmp(key, "DATA.CLASS_NAMES");
}

static bool read_number(const char *text, double *x)
{
    char *end;

    *x = strtod(text, &end);
    return end > text && !*end;
}

static int by_value(const void *a, const void *b)
{
    double x, y;

    (void)read_number(*(const char *const *)a, &x);
    (void)read_number(*(const char *const *)b, &y);
    return (x > y) - (x < y);
}

static bool has_name(const char *const *name, int n, const char *wanted)
{
    for (int k = 0; k < n; k++)
        if (!strcmp(name[k], wanted))
            return true;
    return false;
}

/* Copies the names of DATA.CLASS_NAMES, which must be those of the data. */
static void order_as_listed(const struct config *cfg, const struct dataset *d,
                            const char **name)
{
    const struct str_list *list = &cfg->data.class_names;

    for (int k = 0; k < d->nclass; k++)
        if (!has_name(list->item, list->n, d->class_name[k]))
            config_refuse(cfg, KEYS("DATA.CLASS_NAMES"),
                          "DATA.CLASS_NAMES lacks the class '%s' of '%s'",
                          d->class_name[k], d->name);
    for (int k = 0; k < list->n; k++)
        if (!has_name((const char *const *)d->class_name, d->nclass, list->item[k]))
            config_refuse(cfg, KEYS("DATA.CLASS_NAMES"),
                          "DATA.CLASS_NAMES: '%s' has no class '%s'", d->name,
                          list->item[k]);
        else if (has_name(list->item, k, list->item[k]))
            config_refuse(cfg, KEYS("DATA.CLASS_NAMES"),
                          "DATA.CLASS_NAMES lists '%s' twice", list->item[k]);
    memcpy(name, list->item, (size_t)list->n * sizeof(*name));
}

static void log_order(const struct dataset *d)
{
    enum { SHOWN = 12 };
    struct strbuf s = STRBUF_INIT;

    for (int k = 0; k < d->nclass && k < SHOWN; k++)
        strbuf_addf(&s, "%s%.40s", k ? " < " : "", d->class_name[k]);
    if (d->nclass > SHOWN)
        strbuf_addf(&s, " < ... < %.40s", d->class_name[d->nclass - 1]);
    log_info("ordered classes: %s (DATA.CLASS_NAMES sets another order)", s.buf);
    strbuf_release(&s);
}

void data_order(const struct config *cfg, struct dataset *d, bool log)
{
    const char **name;
    bool numbers = true;

    if (cfg->model.task != TASK_ORDINAL || dataset_has_labels(d))
        return;
    if (d->nclass < 2 || d->nclass > ORDINAL_CLASSES)
        die("'%s' has %d class%s: MODEL.TASK ordinal works for 2 to %d", d->name,
            d->nclass, d->nclass == 1 ? "" : "es", ORDINAL_CLASSES);
    name = xcalloc((size_t)d->nclass, sizeof(*name));
    memcpy(name, d->class_name, (size_t)d->nclass * sizeof(*name));
    for (int k = 0; k < d->nclass; k++) {
        double x;

        numbers &= read_number(name[k], &x);
    }
    if (cfg->data.class_names.n)
        order_as_listed(cfg, d, name);
    else if (numbers)
        qsort(name, (size_t)d->nclass, sizeof(*name), by_value);
    dataset_order_classes(d, name);
    if (log)
        log_order(d);
    free(name);
}
