/* Draws curves as inline SVG in the colors of the page. */
#ifndef PAGE_CHART_H
#define PAGE_CHART_H

#include <stdbool.h>

#include "base/strbuf.h"

struct curve {
    const char *name;    /* for the legend */
    const double *x, *y; /* y: NaN for missing values, which break the line */
    int n;
    int color; /* index of the color; colors repeat after PAGE_COLORS */
    int dash;  /* 0: solid; 1: dashed; 2: dotted */
};

/* An entry of the legend: the meaning of a color or line style. */
struct legend {
    const char *name;
    int color; /* -1: any color */
    int dash;
};

struct chart {
    const char *title;
    const char *unit;  /* shown after the title, or NULL */
    const char *along; /* label of the x axis; NULL: "steps" */
    bool logarithmic;  /* logarithmic y axis if all values are above 0 */
    const struct curve *curve;
    int n;
    const struct legend *legend; /* NULL: one entry per curve */
    int nlegend;
};

/*
 * Appends a <figure> with a legend. Downsamples long curves to means of neighboring points.
 * Writes nothing and returns false if no curve has a value.
 */
bool chart_add(struct strbuf *s, const struct chart *c);

#endif
