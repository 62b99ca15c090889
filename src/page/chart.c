#include "page/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "page/assets.h"
#include "page/html.h"

/* The SVG and its margins, in its units. */
enum { WIDTH = 560, HEIGHT = 264, LEFT = 56, RIGHT = 10, TOP = 10, BOTTOM = 40 };
/* Approximate points per curve and ticks per axis. Lines of at most DOT_BELOW points get
 * dots. */
enum { POINTS = 400, TICKS = 5, DOT_BELOW = 3 };

struct axes {
    double x0, x1, y0, y1;
    bool log;
};

/* False for NaN, infinity, and values too large for an axis (losses of diverged runs). */
static bool is_drawable(double y)
{
    return fabs(y) < 1e100;
}

/* A curve downsampled to at most POINTS points, each the mean of neighbors. */
struct downsampled {
    double *x, *y;
    int n;
};

static struct downsampled downsample(const struct curve *c)
{
    struct downsampled t = {.n = c->n < POINTS ? c->n : POINTS};

    t.x = xcalloc((size_t)t.n + 1, sizeof(*t.x));
    t.y = xcalloc((size_t)t.n + 1, sizeof(*t.y));
    for (int i = 0; i < t.n; i++) {
        int begin = (int)((int64_t)i * c->n / t.n);
        int end = (int)((int64_t)(i + 1) * c->n / t.n), good = 0;
        double sum = 0;

        for (int k = begin; k < end; k++) {
            good += is_drawable(c->y[k]);
            sum += is_drawable(c->y[k]) ? c->y[k] : 0;
        }
        t.x[i] = c->x[end - 1];
        t.y[i] = good ? sum / good : (double)NAN;
    }
    return t;
}

static void downsampled_release(struct downsampled *t)
{
    free(t->x);
    free(t->y);
}

static void extend_axes(struct axes *a, const struct downsampled *t, bool *any,
                        bool *positive)
{
    for (int i = 0; i < t->n; i++) {
        if (!is_drawable(t->y[i]))
            continue;
        a->x0 = !*any || t->x[i] < a->x0 ? t->x[i] : a->x0;
        a->x1 = !*any || t->x[i] > a->x1 ? t->x[i] : a->x1;
        a->y0 = !*any || t->y[i] < a->y0 ? t->y[i] : a->y0;
        a->y1 = !*any || t->y[i] > a->y1 ? t->y[i] : a->y1;
        *positive = *positive && t->y[i] > 0;
        *any = true;
    }
}

/* Rounds up to 1, 2, or 5 times a power of ten. */
static double round_step(double rough)
{
    double power = pow(10, floor(log10(rough))), part = rough / power;

    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static double x_of(const struct axes *a, double x)
{
    return LEFT + (x - a->x0) / (a->x1 - a->x0) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axes *a, double y)
{
    double part =
        a->log ? log(y / a->y0) / log(a->y1 / a->y0) : (y - a->y0) / (a->y1 - a->y0);

    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

static void add_label(struct strbuf *s, double x, double y, const char *anchor, double v)
{
    strbuf_addf(s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.6g</text>", x, y,
                anchor, v);
}

static void add_grid_line(struct strbuf *s, const struct axes *a, double v)
{
    double y = y_of(a, v);

    strbuf_addf(s, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
                LEFT, WIDTH - RIGHT, y, y);
    add_label(s, LEFT - 5, y + 4, "end", v);
}

/* Adds grid lines at powers of ten and, if these are few, at 2 and 5 times powers of
 * ten. */
static void add_decades(struct strbuf *s, const struct axes *a)
{
    static const double part[] = {1, 2, 5};
    double decades = log10(a->y1 / a->y0), step = fmax(1, round(decades / TICKS));
    int parts = decades < 3 ? 3 : 1;

    for (double e = floor(log10(a->y0)); e <= log10(a->y1) + 1e-9; e += step)
        for (int k = 0; k < parts; k++) {
            double v = pow(10, e) * part[k];

            if (v >= a->y0 * (1 - 1e-9) && v <= a->y1 * (1 + 1e-9))
                add_grid_line(s, a, v);
        }
}

static void add_grid(struct strbuf *s, const struct axes *a)
{
    double step = round_step((a->y1 - a->y0) / TICKS);
    double along = round_step((a->x1 - a->x0) / TICKS);

    if (a->log)
        add_decades(s, a);
    for (int i = 0; !a->log && i <= 2 * TICKS; i++) {
        double v = ceil(a->y0 / step) * step + i * step;

        if (v <= a->y1 + 1e-9 * step)
            add_grid_line(s, a, fabs(v) < 1e-9 * step ? 0 : v);
    }
    for (int i = 0; i <= 2 * TICKS; i++) {
        double v = ceil(a->x0 / along) * along + i * along;

        if (v <= a->x1)
            add_label(s, x_of(a, v), HEIGHT - BOTTOM + 15, "middle", v);
    }
}

static void add_polyline(struct strbuf *s, const struct curve *c, const struct axes *a,
                         const struct downsampled *t, int begin, int end)
{
    int color = c->color % PAGE_COLORS;

    if (begin == end)
        return;
    strbuf_addf(s, "<polyline class=\"c%d p%d\" data-name=\"", color, c->dash);
    html_add(s, c->name);
    strbuf_addstr(s, "\" points=\"");
    for (int i = begin; i < end; i++)
        strbuf_addf(s, "%s%.1f,%.1f", i > begin ? " " : "", x_of(a, t->x[i]),
                    y_of(a, t->y[i]));
    strbuf_addstr(s, "\"/>");
    for (int i = begin; end - begin <= DOT_BELOW && i < end; i++)
        strbuf_addf(s, "<circle class=\"c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>", color,
                    x_of(a, t->x[i]), y_of(a, t->y[i]));
}

static void add_curve(struct strbuf *s, const struct curve *c, const struct axes *a,
                      const struct downsampled *t)
{
    int start = 0;

    for (int i = 0; i <= t->n; i++) {
        if (i < t->n && is_drawable(t->y[i]))
            continue;
        add_polyline(s, c, a, t, start, i);
        start = i + 1;
    }
}

static void finish_axes(struct axes *a, bool log)
{
    a->log = log && a->y1 / a->y0 > 20;
    if (!(a->x1 > a->x0))
        a->x1 = a->x0 + 1;
    if (a->y1 == 0 && a->y0 == 0) {
        a->y1 = 1;
    } else if (!(a->y1 > a->y0)) {
        a->y0 -= fabs(a->y0) * 0.05 + 1e-9;
        a->y1 += fabs(a->y1) * 0.05 + 1e-9;
    } else if (!a->log) {
        double room = 0.04 * (a->y1 - a->y0);

        a->y0 = a->y0 >= 0 && a->y0 - room < 0 ? 0 : a->y0 - room;
        a->y1 += room;
    }
}

static void add_entry(struct strbuf *s, const struct legend *l)
{
    if (l->color < 0)
        strbuf_addf(s, "<span><i class=\"d%d\"></i>", l->dash);
    else
        strbuf_addf(s, "<span><i class=\"k%d d%d\"></i>", l->color % PAGE_COLORS,
                    l->dash);
    html_add(s, l->name);
    strbuf_addstr(s, "</span>");
}

static void add_legend(struct strbuf *s, const struct chart *c)
{
    strbuf_addstr(s, "<div class=\"legend\">");
    for (int i = 0; i < c->nlegend; i++)
        add_entry(s, &c->legend[i]);
    for (int i = 0; !c->legend && i < c->n; i++)
        if (c->curve[i].n)
            add_entry(s, &(struct legend){c->curve[i].name, c->curve[i].color,
                                          c->curve[i].dash});
    strbuf_addstr(s, "</div><div class=\"legend at\">&nbsp;</div>");
}

static void add_svg(struct strbuf *s, const struct chart *c, const struct axes *a,
                    const struct downsampled *t)
{
    strbuf_addstr(s, "<figure><figcaption>");
    html_add(s, c->title);
    if (c->unit)
        html_addf(s, ", %s", c->unit);
    strbuf_addf(s,
                "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" data-axes=\"%d %d "
                "%.17g %.17g %d %d %.17g %.17g %d\" aria-label=\"",
                WIDTH, HEIGHT, LEFT, WIDTH - RIGHT, a->x0, a->x1, HEIGHT - BOTTOM, TOP,
                a->y0, a->y1, a->log);
    html_add(s, c->title);
    strbuf_addstr(s, "\">");
    add_grid(s, a);
    strbuf_addf(s, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
                (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6);
    html_add(s, c->along ? c->along : "steps");
    strbuf_addstr(s, "</text>");
    for (int i = 0; i < c->n; i++)
        add_curve(s, &c->curve[i], a, &t[i]);
    strbuf_addstr(s, "</svg>");
    add_legend(s, c);
    strbuf_addstr(s, "</figure>\n");
}

bool chart_add(struct strbuf *s, const struct chart *c)
{
    struct downsampled *t = xcalloc((size_t)c->n + 1, sizeof(*t));
    struct axes a = {0};
    bool any = false, positive = true;

    for (int i = 0; i < c->n; i++) {
        t[i] = downsample(&c->curve[i]);
        extend_axes(&a, &t[i], &any, &positive);
    }
    if (any) {
        finish_axes(&a, c->logarithmic && positive);
        add_svg(s, c, &a, t);
    }
    for (int i = 0; i < c->n; i++)
        downsampled_release(&t[i]);
    free(t);
    return any;
}
