/*
 * What a run has left in its folder, for pages: the files of train/output.h and
 * train/run_files.h. Any of them may be missing, as of a run that was killed or is under
 * way; metrics.jsonl is what makes a folder a run's.
 */
#ifndef PAGE_RUN_H
#define PAGE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "io/json.h"
#include "page/table.h"

/* One number of metrics.jsonl over the run; its name is KIND/KEY: "train/loss",
 * "val/val_top1". */
struct page_series {
    char *name;
    double *x, *y; /* x: the update; y: the value, NaN for null */
    int n, cap;
};

struct page_run {
    char *dir, *name;
    struct page_series *series;
    int nseries, series_cap;
    json_t *result;                  /* result.json; NULL */
    char *derived;                   /* derived.yaml; NULL */
    struct table settings, model;    /* settings.csv, model.csv */
    struct table epochs;             /* summary.csv */
    struct table classes, confusion; /* report/ */
    struct table pairs, worst;       /* report/pairs.csv, report/worst.csv */
};

bool page_run_is(const char *dir); /* has it metrics.jsonl? */
/* False, with the reason, if metrics.jsonl cannot be read. `name`: what pages call it. */
bool page_run_read(struct page_run *r, const char *dir, const char *name,
                   struct strbuf *why);
void page_run_release(struct page_run *r);

const struct page_series *page_run_series(const struct page_run *r, const char *name);
/* Of result.json; NaN: not there. */
double page_run_number(const struct page_run *r, const char *key);
/* "top1" or "miou": the score by which its best checkpoint is chosen. */
const char *page_run_score(const struct page_run *r);
/* Its best, of the weights or their EMA, and the last loss of training; NaN: none. */
double page_run_best(const struct page_run *r);
double page_run_loss(const struct page_run *r);
/* Of derived.yaml: the rest of the line of a key, with all that follows it; "": not
 * there. */
const char *page_run_derived(const struct page_run *r, const char *key);
/* True if it ran on a device of its own, not on the processor. */
bool page_run_on_device(const struct page_run *r);
/* Of settings.csv: the value of a key as text; "": not there. */
const char *page_run_setting(const struct page_run *r, const char *key);

#endif
