#include "config/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"

enum { TEXT_MOST = 1000 }; /* bytes: who gives a book as a value need not read it again */

__attribute__((format(printf, 4, 0))) static void
add(struct problems *p, int kind, const char *where, const char *fmt, va_list ap)
{
    struct strbuf s = STRBUF_INIT;
    char *text = NULL;

    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    if (strlen(text) > TEXT_MOST)
        memcpy(text + TEXT_MOST - 3, "...", 4);
    if (where && *where)
        strbuf_addf(&s, "%s: ", where);
    strbuf_addstr(&s, text);
    one_line(s.buf);
    free(text);
    for (int i = 0; i < p->n; i++) {
        if (!strcmp(p->item[i].text, s.buf)) { /* a file that is read twice */
            strbuf_release(&s);
            return;
        }
    }
    p->nerror += kind == PROBLEM_ERROR;
    if (p->n < PROBLEMS_MOST) {
        GROW(p->item, p->n, p->cap);
        p->item[p->n++] = (struct problem){strbuf_detach(&s), kind};
    } else {
        p->nmore++;
        strbuf_release(&s);
    }
}

void problems_error(struct problems *p, const char *where, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add(p, PROBLEM_ERROR, where, fmt, ap);
    va_end(ap);
}

void problems_warn(struct problems *p, const char *where, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add(p, PROBLEM_WARNING, where, fmt, ap);
    va_end(ap);
}

void problems_note(struct problems *p, const char *where, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add(p, PROBLEM_NOTE, where, fmt, ap);
    va_end(ap);
}

void problems_print(struct problems *p)
{
    static const char *const name[] = {"error", "warning", "note"};

    (void)fflush(stdout);
    for (int i = 0; i < p->n; i++) {
        (void)fprintf(stderr, "trainc: %s: %s\n", name[p->item[i].kind], p->item[i].text);
        log_quiet("%s: %s", name[p->item[i].kind], p->item[i].text);
    }
    if (p->nmore)
        (void)fprintf(stderr, "trainc: and %d more like these\n", p->nmore);
    problems_release(p);
}

void problems_release(struct problems *p)
{
    for (int i = 0; i < p->n; i++)
        free(p->item[i].text);
    free(p->item);
    *p = (struct problems){0};
}
