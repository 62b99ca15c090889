/*
 * Arithmetic in arguments of layers: 4 * width, in_channels // 16, (depth + 1) * 2.
 * Operators are Python's + - * / // % and parentheses; names are looked up.
 */
#ifndef LAYERS_EXPRESSION_H
#define LAYERS_EXPRESSION_H

#include <stdbool.h>

#include "base/strbuf.h"

struct expression_names {
    /* Returns true and the number of a name of `len` bytes. */
    bool (*get)(void *data, const char *name, int len, double *number);
    void *data;
};

/* Returns false, with the reason in `why`, if the text is no expression or its value is
 * not finite: "unknown name 'x'". */
bool expression_value(const char *text, const struct expression_names *names,
                      double *value, struct strbuf *why);

#endif
