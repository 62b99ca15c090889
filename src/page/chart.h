/* Curves as inline SVG, in the colours of the page. */
#ifndef PAGE_CHART_H
#define PAGE_CHART_H

#include <stdbool.h>

#include "base/strbuf.h"

struct curve {
    const char *name; /* for the legend */
    const double *x, *y; /* y: NaN where there is no value, which breaks the line */
    int n;
    int colour; /* from 0; further ones repeat */
    int dash;   /* 0: a solid line; 1, 2: dashed, dotted */
};

/* What a colour or a kind of line stands for. */
struct legend {
    const char *name;
    int colour; /* -1: of any */
    int dash;
};

struct chart {
    const char *title;
    const char *unit; /* after the title; NULL: none */
    const char *along; /* what the x axis counts; NULL: updates */
    bool logarithmic; /* where all values are above 0 */
    const struct curve *curve;
    int n;
    const struct legend *legend; /* NULL: an entry for each curve */
    int nlegend;
};

/*
 * A <figure> with a legend. Curves of more points than can be seen are thinned to means
 * of neighbours. Writes nothing and returns false if no curve has a value.
 */
bool chart_add(struct strbuf *s, const struct chart *c);

#endif
