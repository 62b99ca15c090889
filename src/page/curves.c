/* The charts of a page: one row of a table per chart. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "page/chart.h"
#include "page/page.h"

enum { PARTS = 5 }; /* curves of a chart, at most */

/* The curves that share a chart; a series that a run does not have is left out. */
static const struct {
    const char *title, *unit;
    bool logarithmic;
    struct {
        const char *series, *name;
    } part[PARTS];
} charts[] = {
    {"loss", NULL, true,
     {{"train/loss", "training"}, {"val/val_loss", "validation"}, {"val/ema_loss", "EMA"}}},
    {"accuracy", "%", false,
     {{"train/top1", "training"}, {"val/val_top1", "validation"}, {"val/ema_top1", "EMA"}}},
    {"mean IoU", NULL, false, {{"val/val_miou", "validation"}, {"val/ema_miou", "EMA"}}},
    {"accuracy of pixels", NULL, false,
     {{"train/acc", "training"}, {"val/val_acc", "validation"}, {"val/ema_acc", "EMA"}}},
    {"learning rate", NULL, false, {{"train/lr", "learning rate"}}},
    {"gradient norm", NULL, true, {{"train/grad_norm", "gradient norm"}}},
    {"loss scale", NULL, true,
     {{"train/loss_scale", "loss scale"},
      {"train/loss_scale_0", "of loss 0"},
      {"train/loss_scale_1", "of loss 1"},
      {"train/loss_scale_2", "of loss 2"},
      {"train/loss_scale_3", "of loss 3"}}},
    {"waiting for data", "share of the time", false, {{"train/data_share", "data wait"}}},
    {"speed", "images per second", false,
     {{"train/images_per_second", "images per second"}}},
    {"skipped updates", "since the start", false, {{"train/skipped", "skipped"}}},
};
enum { CHARTS = sizeof(charts) / sizeof(*charts) };

/* Of one run, each part has a colour; of several, each run has one, and parts differ in
 * dashes. */
static void add_chart(struct strbuf *s, int which, const struct page_run *r, int n)
{
    struct curve *c = xcalloc((size_t)n * PARTS, sizeof(*c));
    char **name = xcalloc((size_t)n * PARTS, sizeof(*name));
    int ncurve = 0;

    for (int i = 0; i < n; i++)
        for (int k = 0; k < PARTS && charts[which].part[k].series; k++) {
            const struct page_series *of =
                page_run_series(&r[i], charts[which].part[k].series);

            if (!of)
                continue;
            name[ncurve] = n == 1 ? xstrdup(charts[which].part[k].name)
                           : k    ? xasprintf("%s, %s", r[i].name, charts[which].part[k].name)
                                  : xstrdup(r[i].name);
            c[ncurve] = (struct curve){name[ncurve], of->x, of->y, of->n, n == 1 ? k : i,
                                       n == 1 ? 0 : k};
            ncurve++;
        }
    (void)chart_add(s, &(struct chart){.title = charts[which].title,
                                       .unit = charts[which].unit,
                                       .logarithmic = charts[which].logarithmic,
                                       .curve = c,
                                       .n = ncurve});
    for (int i = 0; i < ncurve; i++)
        free(name[i]);
    free(name);
    free(c);
}

void page_add_curves(struct strbuf *s, const struct page_run *r, int n)
{
    strbuf_addstr(s, "<div class=\"charts\">\n");
    for (int i = 0; i < CHARTS; i++)
        add_chart(s, i, r, n);
    strbuf_addstr(s, "</div>\n");
}
