#include "config/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

__attribute__((format(printf, 4, 0))) static void
add(struct problems *p, bool warning, const char *where, const char *fmt, va_list ap)
{
    struct strbuf s = STRBUF_INIT;
    char *text = NULL;

    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    if (where && *where)
        strbuf_addf(&s, "%s: ", where);
    strbuf_addstr(&s, text);
    free(text);
    for (int i = 0; i < p->n; i++) {
        if (!strcmp(p->item[i].text, s.buf)) { /* a file that is read twice */
            strbuf_release(&s);
            return;
        }
    }
    GROW(p->item, p->n, p->cap);
    p->item[p->n++] = (struct problem){strbuf_detach(&s), warning};
    p->nerror += !warning;
}

void problems_error(struct problems *p, const char *where, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add(p, false, where, fmt, ap);
    va_end(ap);
}

void problems_warn(struct problems *p, const char *where, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add(p, true, where, fmt, ap);
    va_end(ap);
}

void problems_print(struct problems *p)
{
    (void)fflush(stdout);
    for (int i = 0; i < p->n; i++)
        (void)fprintf(stderr, "trainc: %s: %s\n",
                      p->item[i].warning ? "warning" : "error", p->item[i].text);
    problems_release(p);
}

void problems_release(struct problems *p)
{
    for (int i = 0; i < p->n; i++)
        free(p->item[i].text);
    free(p->item);
    *p = (struct problems){0};
}
