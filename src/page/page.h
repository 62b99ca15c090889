/*
 * Pages about runs, from the files in their folders (page/run.h): report.html of one run,
 * or a comparison of several.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "page/run.h"

/* Appends a page about one run: curves, configuration, model, confusion matrix, classes,
 * images, time, and memory. */
void page_add_run(struct strbuf *s, const struct page_run *r);

/* Appends a page about n runs: a sortable table with the keys in which they differ, and
 * their curves in common charts. */
void page_add_comparison(struct strbuf *s, const struct page_run *r, int n);

/* Appends the charts of n runs. */
void page_add_curves(struct strbuf *s, const struct page_run *r, int n);
/* Appends the last validation images of a segmentation, or the images with the largest
 * losses. */
void page_add_images(struct strbuf *s, const struct page_run *r);
/* Appends the confusion matrix and the scores of the classes. */
void page_add_classes(struct strbuf *s, const struct page_run *r);

/* Formats a number with `digits` significant digits, or more if it is large or an integer.
 * NaN becomes "". Returns text. */
const char *page_number(char text[32], double v, int digits);

#endif
