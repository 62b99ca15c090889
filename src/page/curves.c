/* The charts of a page, from a table with one row per chart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "page/chart.h"
#include "page/page.h"

enum { PARTS = 5 }; /* largest number of curves per run in a chart */

/* The kind of a curve. It has the same color in all charts of one run, and the same line
 * style in all charts of several runs. */
enum role { TRAINING, VALIDATION, EMA, ROLES };

/* The EMA curve is dashed because it may coincide with the curve of the raw weights. */
static const struct {
    const char *name;
    int dash_of_one, dash_of_many;
} roles[ROLES] = {
    [TRAINING] = {"training", 0, 0},
    [VALIDATION] = {"validation", 0, 1},
    [EMA] = {"validation, EMA weights", 1, 2},
};

/* The curves of each chart. Missing series are left out, and so are charts in which all
 * values equal `dull` (if may_be_dull). A part without a name is named after its role. */
static const struct {
    const char *title, *unit;
    bool logarithmic, may_be_dull;
    double dull;
    struct {
        const char *series;
        enum role role;
        const char *name;
    } part[PARTS];
} charts[] = {
    {"loss",
     NULL,
     true,
     false,
     0,
     {{"train/loss", TRAINING, NULL},
      {"val/val_loss", VALIDATION, NULL},
      {"val/ema_loss", EMA, NULL}}},
    {"accuracy",
     "%",
     false,
     false,
     0,
     {{"train/top1", TRAINING, NULL},
      {"val/val_top1", VALIDATION, NULL},
      {"val/ema_top1", EMA, NULL}}},
    {"mean IoU",
     NULL,
     false,
     false,
     0,
     {{"val/val_miou", VALIDATION, NULL}, {"val/ema_miou", EMA, NULL}}},
    {"mean average precision",
     NULL,
     false,
     false,
     0,
     {{"val/val_map", VALIDATION, NULL}, {"val/ema_map", EMA, NULL}}},
    {"coefficient of determination (R2)",
     NULL,
     false,
     false,
     0,
     {{"val/val_r2", VALIDATION, NULL}, {"val/ema_r2", EMA, NULL}}},
    {"root mean squared error",
     NULL,
     true,
     false,
     0,
     {{"val/val_rmse", VALIDATION, NULL}, {"val/ema_rmse", EMA, NULL}}},
    {"mean absolute error",
     NULL,
     true,
     false,
     0,
     {{"val/val_mae", VALIDATION, NULL}, {"val/ema_mae", EMA, NULL}}},
    {"quadratic weighted kappa",
     NULL,
     false,
     false,
     0,
     {{"val/val_kappa", VALIDATION, NULL}, {"val/ema_kappa", EMA, NULL}}},
    {"pixel accuracy",
     NULL,
     false,
     false,
     0,
     {{"train/acc", TRAINING, NULL},
      {"val/val_acc", VALIDATION, NULL},
      {"val/ema_acc", EMA, NULL}}},
    {"learning rate", NULL, false, false, 0, {{"train/lr", TRAINING, "learning rate"}}},
    {"gradient norm",
     NULL,
     true,
     false,
     0,
     {{"train/grad_norm", TRAINING, "gradient norm"}}},
    {"loss scale",
     NULL,
     true,
     true,
     1,
     {{"train/loss_scale", TRAINING, "loss scale"},
      {"train/loss_scale_0", TRAINING, "loss 0"},
      {"train/loss_scale_1", TRAINING, "loss 1"},
      {"train/loss_scale_2", TRAINING, "loss 2"},
      {"train/loss_scale_3", TRAINING, "loss 3"}}},
    {"waiting for data",
     "share of the time",
     false,
     false,
     0,
     {{"train/data_share", TRAINING, "data wait"}}},
    {"speed",
     "images per second",
     false,
     false,
     0,
     {{"train/images_per_second", TRAINING, "images per second"}}},
    {"skipped steps",
     "since the start",
     false,
     true,
     0,
     {{"train/skipped", TRAINING, "skipped"}}},
};
enum { CHARTS = sizeof(charts) / sizeof(*charts) };

/* The curves of a chart of n runs, and its legend. */
struct drawing {
    int which, n;
    const struct page_run *run;
    struct curve *curve;
    char **name; /* names of the curves */
    int ncurve;
    struct legend *legend;
    int nlegend;
    bool has[ROLES];
};

/* With one run, each part has its color; with several, each run has its color, and parts
 * differ in line style. */
static void add_curve(struct drawing *d, int run, int part,
                      const struct page_series *series)
{
    enum role role = charts[d->which].part[part].role;
    const char *name = charts[d->which].part[part].name;
    int color = name ? part : (int)role;
    char *full;

    name = name ? name : roles[role].name;
    full = d->n == 1 ? xstrdup(name)
           : part    ? xasprintf("%s, %s", d->run[run].name, name)
                     : xstrdup(d->run[run].name);
    d->name[d->ncurve] = full;
    d->has[role] = true;
    d->curve[d->ncurve++] = (struct curve){
        full,
        series->x,
        series->y,
        series->n,
        d->n == 1 ? color : run,
        d->n == 1 ? roles[role].dash_of_one : roles[role].dash_of_many,
    };
}

static bool has_values(const struct page_series *series)
{
    for (int i = 0; series && i < series->n; i++)
        if (isfinite(series->y[i]))
            return true;
    return false;
}

static bool is_dull(const struct drawing *d)
{
    bool dull = charts[d->which].may_be_dull;

    for (int c = 0; dull && c < d->ncurve; c++)
        for (int i = 0; dull && i < d->curve[c].n; i++)
            dull = d->curve[c].y[i] == charts[d->which].dull;
    return dull;
}

/* Fills the legend of several runs: the runs, then the line styles if there are several. */
static void fill_legend(struct drawing *d, const bool *drawn)
{
    int kinds = d->has[TRAINING] + d->has[VALIDATION] + d->has[EMA];

    for (int i = 0; i < d->n; i++)
        if (drawn[i])
            d->legend[d->nlegend++] = (struct legend){d->run[i].name, i, 0};
    for (int k = 0; kinds > 1 && k < ROLES; k++)
        if (d->has[k])
            d->legend[d->nlegend++] =
                (struct legend){roles[k].name, -1, roles[k].dash_of_many};
}

static void add_chart(struct strbuf *s, int index, const struct page_run *r, int n,
                      const char *along)
{
    struct drawing d = {.which = index, .n = n, .run = r};
    bool *drawn = xcalloc((size_t)n, sizeof(*drawn));

    d.curve = xcalloc((size_t)n * PARTS, sizeof(*d.curve));
    d.name = xcalloc((size_t)n * PARTS, sizeof(*d.name));
    d.legend = xcalloc((size_t)n + ROLES, sizeof(*d.legend));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < PARTS && charts[index].part[k].series; k++) {
            const struct page_series *series =
                page_run_series(&r[i], charts[index].part[k].series);

            if (!has_values(series))
                continue;
            add_curve(&d, i, k, series);
            drawn[i] = true;
        }
    fill_legend(&d, drawn);
    if (!is_dull(&d))
        (void)chart_add(s, &(struct chart){.title = charts[index].title,
                                           .unit = charts[index].unit,
                                           .along = along,
                                           .logarithmic = charts[index].logarithmic,
                                           .curve = d.curve,
                                           .n = d.ncurve,
                                           .legend = n > 1 ? d.legend : NULL,
                                           .nlegend = n > 1 ? d.nlegend : 0});
    for (int i = 0; i < d.ncurve; i++)
        free(d.name[i]);
    free(d.name);
    free(d.curve);
    free(d.legend);
    free(drawn);
}

void page_add_curves(struct strbuf *s, const struct page_run *r, int n)
{
    const char *steps_per_epoch = n == 1 ? page_run_derived(r, "updates_per_epoch") : "";
    char along[64];

    (void)snprintf(along, sizeof(along),
                   *steps_per_epoch ? "steps (%.*s per epoch)" : "steps",
                   (int)strcspn(steps_per_epoch, "\n"), steps_per_epoch);
    strbuf_addstr(s, "<div class=\"charts\">\n");
    for (int i = 0; i < CHARTS; i++)
        add_chart(s, i, r, n, along);
    strbuf_addstr(s, "</div>\n");
}
