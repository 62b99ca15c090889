#include "config/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"

enum { TEXT_MAX = 1000 }; /* maximum length of a message in bytes */

/* True for "FILE:LINE:COLUMN", unlike "--lr" or "--opts #3". */
static bool is_in_file(const char *origin)
{
    const char *colon = origin ? strrchr(origin, ':') : NULL;

    return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
}

static void add(struct problems *p, int kind, const char *origin, const char *text)
{
    size_t len = strlen(text);
    struct strbuf s = STRBUF_INIT;

    if (origin && *origin)
        strbuf_addf(&s, "%s: ", origin);
    strbuf_add(&s, text, len > TEXT_MAX ? TEXT_MAX - 3 : len);
    if (len > TEXT_MAX)
        strbuf_addstr(&s, "...");
    one_line(s.buf);
    for (int i = 0; i < p->n; i++) {
        if (!strcmp(p->item[i].text, s.buf)) { /* a file that is read twice */
            strbuf_release(&s);
            return;
        }
    }
    p->nerror += kind == PROBLEM_ERROR;
    if (p->n < PROBLEMS_MAX) {
        GROW(p->item, p->n, p->cap);
        p->item[p->n++] = (struct problem){strbuf_detach(&s), kind, is_in_file(origin)};
    } else {
        p->nmore++;
        strbuf_release(&s);
    }
}

__attribute__((format(printf, 4, 0))) static void
vadd(struct problems *p, int kind, const char *origin, const char *fmt, va_list ap)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    add(p, kind, origin, text);
    free(text);
}

void problems_error(struct problems *p, const char *origin, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vadd(p, PROBLEM_ERROR, origin, fmt, ap);
    va_end(ap);
}

void problems_warn(struct problems *p, const char *origin, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vadd(p, PROBLEM_WARNING, origin, fmt, ap);
    va_end(ap);
}

void problems_unread(struct problems *p, const char *origin, const char *key,
                     const char *fmt, ...)
{
    struct strbuf s = STRBUF_INIT;
    char *why;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&why, fmt, ap) < 0)
        abort();
    va_end(ap);
    strbuf_addf(&s, "%s has no effect: %s", key, why);
    add(p, PROBLEM_UNREAD, origin, s.buf);
    strbuf_release(&s);
    free(why);
}

void problems_drop_unread(struct problems *p)
{
    int n = 0;

    for (int i = 0; i < p->n; i++) {
        if (p->item[i].kind == PROBLEM_UNREAD && p->item[i].file)
            free(p->item[i].text);
        else
            p->item[n++] = p->item[i];
    }
    p->n = n;
}

void problems_note(struct problems *p, const char *origin, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vadd(p, PROBLEM_NOTE, origin, fmt, ap);
    va_end(ap);
}

void problems_print(struct problems *p)
{
    static const char *const name[] = {"error", "warning", "note", "warning"};

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
