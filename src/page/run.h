/*
 * Reads the files of a run for pages: those of train/output.h and train/run_files.h. All
 * except metrics.jsonl may be missing, because a run may have been killed or may still
 * be in progress.
 */
#ifndef PAGE_RUN_H
#define PAGE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "io/json.h"
#include "page/table.h"

/* One number of metrics.jsonl over the run. Its name is KIND/KEY: "train/loss",
 * "val/val_top1". */
struct page_series {
    char *name;
    double *x, *y; /* x: step; y: value, NaN for null */
    int n, cap;
};

struct page_run {
    char *dir, *name;
    struct page_series *series;
    int nseries, series_cap;
    json_t *result;                  /* result.json, or NULL */
    char *derived;                   /* derived.yaml, or NULL */
    struct table settings, model;    /* settings.csv, model.csv */
    struct table epochs;             /* summary.csv */
    struct table classes, confusion; /* report/ */
    struct table pairs, worst;       /* report/pairs.csv, report/worst.csv */
    struct table targets;            /* report/targets.csv of a regression */
};

bool page_is_run(const char *dir); /* true if dir holds metrics.jsonl */
/* Returns false, with the reason in why, if metrics.jsonl cannot be read. name: the name of
 * the run in pages. */
bool page_run_read(struct page_run *r, const char *dir, const char *name,
                   struct strbuf *why);
void page_run_release(struct page_run *r);

const struct page_series *page_run_series(const struct page_run *r, const char *name);
/* Returns a number of result.json, or NaN if it is missing. */
double page_run_number(const struct page_run *r, const char *key);
/* The score of the best checkpoint. */
struct page_score {
    const char *name; /* "top1" */
    const char *card; /* for people */
    int column;       /* in a comparison of runs */
};
const struct page_score *page_run_score(const struct page_run *r);
/* Return the best score (of the raw or EMA weights) and the last training loss, or NaN. */
double page_run_best(const struct page_run *r);
double page_run_loss(const struct page_run *r);
/* Returns a pointer into derived.yaml to the value of a key and all that follows it, or ""
 * if the key is missing. */
const char *page_run_derived(const struct page_run *r, const char *key);
/* True if the run used a device other than the CPU. */
bool page_run_on_device(const struct page_run *r);
/* Returns the value of a key in settings.csv, or "" if it is missing. */
const char *page_run_setting(const struct page_run *r, const char *key);

#endif
