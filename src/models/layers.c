#include "models/layers.h"

#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { NUMBERS = 4, HEAD = 1 << 30, JOINS = HEAD - 1 };

/* Sort key of a layer; `segment`: its index. */
struct layer {
    int number[NUMBERS], n, segment;
};

static void add(struct layer *l, int number)
{
    if (l->n == NUMBERS)
        BUG("a rule of layers finds too many numbers");
    l->number[l->n++] = number;
}

static int by_number(const void *a, const void *b)
{
    const struct layer *x = a, *y = b;

    for (int i = 0; i < x->n && i < y->n; i++)
        if (x->number[i] != y->number[i])
            return x->number[i] < y->number[i] ? -1 : 1;
    return (x->n > y->n) - (x->n < y->n);
}

static void match(const struct layer_rule *r, struct layer *l, const char *name)
{
    regmatch_t m[NUMBERS];
    regex_t re;

    if (regcomp(&re, r->pattern, REG_EXTENDED))
        BUG("a rule of layers is no pattern: %s", r->pattern);
    if (!regexec(&re, name, NUMBERS, m, 0)) {
        add(l, r->group);
        for (int i = 1; i < NUMBERS && m[i].rm_so >= 0; i++)
            if (isdigit((unsigned char)name[m[i].rm_so]))
                add(l, (int)strtol(name + m[i].rm_so, NULL, 10));
        if (r->has_then)
            add(l, r->then);
        if (r->joins)
            add(l, JOINS);
    }
    regfree(&re);
}

static struct layer layer_of(const struct layer_rule *rules, const char *prefix,
                             const char *name)
{
    size_t len = prefix ? strlen(prefix) : 0;
    bool inside = !len || !strncmp(name, prefix, len);
    struct layer l = {.n = 0};

    for (const struct layer_rule *r = rules; r && r->pattern && inside && !l.n; r++)
        match(r, &l, name + len);
    if (!l.n)
        add(&l, HEAD);
    return l;
}

bool layers_contain(const char *const *layers, const char *name)
{
    for (; layers && *layers; layers++) {
        size_t len = strlen(*layers);

        if (!strncmp(name, *layers, len) && name[len] == '.')
            return true;
    }
    return false;
}

void layer_scales(const struct layer_rule *rules, const char *prefix,
                  const struct flat *f, double decay, float *scale)
{
    struct layer *l = xcalloc((size_t)f->nparam + 1, sizeof(*l));
    int *index = xcalloc((size_t)f->nparam + 1, sizeof(*index)), last = 0;

    for (int i = 0; i < f->nparam; i++) {
        l[i] = layer_of(rules, prefix, f->segment[i].tensor->name);
        l[i].segment = i;
    }
    qsort(l, (size_t)f->nparam, sizeof(*l), by_number);
    for (int i = 0; i < f->nparam; i++) {
        if (i && by_number(&l[i - 1], &l[i]) && l[i].number[l[i].n - 1] != JOINS)
            last++;
        index[l[i].segment] = last;
    }
    for (int i = 0; i < f->nparam; i++)
        scale[i] = (float)pow(decay, last - index[i]);
    free(index);
    free(l);
}
