#include "cmd/sweep_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cmd/sweep_grid.h"

static const struct {
    const char *name;
    enum space_kind kind;
} distributions[] = {
    {"log(", SPACE_LOG}, {"uniform(", SPACE_UNIFORM}, {"int(", SPACE_INT}};

/* Returns the row of a distribution, or -1. */
static int distribution_of(const char *values)
{
    for (int i = 0; i < (int)(sizeof(distributions) / sizeof(*distributions)); i++)
        if (!strncmp(values, distributions[i].name, strlen(distributions[i].name)))
            return i;
    return -1;
}

bool space_is_distribution(const char *axis)
{
    const char *equals = strchr(axis, '=');

    return equals && distribution_of(equals + 1) >= 0;
}

/* Parses "LOW,HIGH)". Returns false if the text is something else. */
static bool parse_bounds(struct space_axis *a, const char *text)
{
    char *end;

    a->low = strtod(text, &end);
    if (end == text || *end != ',')
        return false;
    text = end + 1;
    a->high = strtod(text, &end);
    return end != text && !strcmp(end, ")") && isfinite(a->low) && isfinite(a->high);
}

static void init_axis(struct space_axis *a, const char *text)
{
    const char *equals = strchr(text, '=');
    int k;

    if (!equals || equals == text || !equals[1])
        usage("--grid must be KEY=VALUE,VALUE,... or KEY=log(LOW,HIGH), not '%s'", text);
    *a = (struct space_axis){.key = xasprintf("%.*s", (int)(equals - text), text)};
    k = distribution_of(equals + 1);
    if (k < 0) {
        a->choice = sweep_grid_values(equals + 1, &a->nchoice);
        return;
    }
    a->kind = distributions[k].kind;
    if (!parse_bounds(a, equals + 1 + strlen(distributions[k].name)))
        usage("'%s': expected %sLOW,HIGH)", text, distributions[k].name);
    if (!(a->low < a->high) || (a->kind == SPACE_LOG && !(a->low > 0)))
        usage("'%s': LOW must be below HIGH%s", text,
              a->kind == SPACE_LOG ? " and above 0" : "");
    if (a->kind == SPACE_INT && (a->low != rint(a->low) || a->high != rint(a->high)))
        usage("'%s': the bounds must be whole numbers", text);
}

void space_init(struct space *s, char *const *axis, int n)
{
    s->axis = xcalloc((size_t)n + 1, sizeof(*s->axis));
    s->n = n;
    for (int i = 0; i < n; i++)
        init_axis(&s->axis[i], axis[i]);
}

void space_release(struct space *s)
{
    for (int i = 0; i < s->n; i++) {
        for (int k = 0; k < s->axis[i].nchoice; k++)
            free(s->axis[i].choice[k]);
        free(s->axis[i].choice);
        free(s->axis[i].key);
    }
    free(s->axis);
    *s = (struct space){0};
}

char *space_word(const struct space_axis *a, double position)
{
    double low = a->low, high = a->high;

    switch (a->kind) {
    case SPACE_CHOICE:
        return xasprintf("%s=%s", a->key, a->choice[(int)(position * a->nchoice)]);
    case SPACE_INT:
        return xasprintf("%s=%.0f", a->key, low + floor(position * (high - low + 1)));
    case SPACE_LOG:
        return xasprintf("%s=%.4g", a->key, low * pow(high / low, position));
    case SPACE_UNIFORM:
        break;
    }
    return xasprintf("%s=%.4g", a->key, low + position * (high - low));
}
