/*
 * Pages about runs, made from what they have left (page/run.h): report.html of one, and a
 * comparison of several.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "page/run.h"

/* Curves, configuration, model, confusion matrix, classes, images, time and memory. */
void page_add_run(struct strbuf *s, const struct page_run *r);

/* A table that sorts, the curves over each other, the keys in which they differ. */
void page_add_comparison(struct strbuf *s, const struct page_run *r, int n);

/* Parts of both; `r` has n runs. */
void page_add_curves(struct strbuf *s, const struct page_run *r, int n);
/* The last images of a segmentation, or those with the largest losses. */
void page_add_images(struct strbuf *s, const struct page_run *r);
/* Of the confusion matrix and the scores of the classes. */
void page_add_classes(struct strbuf *s, const struct page_run *r);

/* A number as a person reads it, in a buffer of 32: of `digits` digits, or more if it is
 * large, or a whole number. "": NaN. */
const char *page_number(char text[32], double v, int digits);

#endif
