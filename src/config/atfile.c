#include "config/atfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"

enum { BYTES_MAX = 4 << 20 };

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct splitter {
    const char *p, *line; /* line: start of the current line */
    int nline;
};

static void step(struct splitter *s)
{
    if (*s->p++ == '\n') {
        s->line = s->p;
        s->nline++;
    }
}

/* Skips a backslash at the end of a line, and the line end. Returns false if there is
 * none. */
static bool joined(struct splitter *s)
{
    size_t end = *s->p == '\\' ? 1 + strspn(s->p + 1, "\r") : 0;

    if (!end || s->p[end] != '\n')
        return false;
    for (size_t i = 0; i <= end; i++)
        step(s);
    return true;
}

static void skip_blanks(struct splitter *s)
{
    for (;;) {
        if (joined(s))
            continue;
        if (!*s->p || !strchr(" \t\r\n#", *s->p))
            return;
        if (*s->p == '#')
            s->p += strcspn(s->p, "\n");
        else
            step(s);
    }
}

/* Appends a quoted part. Inside "..." a backslash escapes only " and \ ; inside '...'
 * nothing. Returns false if the quote is not closed. */
static bool quoted(struct splitter *s, struct strbuf *word)
{
    char q = *s->p;

    step(s);
    while (*s->p && *s->p != q) {
        if (q == '"' && *s->p == '\\' && s->p[1] && strchr("\"\\", s->p[1]))
            step(s);
        strbuf_addch(word, *s->p);
        step(s);
    }
    if (!*s->p)
        return false;
    step(s);
    return true;
}

static bool next_word(struct splitter *s, struct strbuf *word)
{
    strbuf_reset(word);
    while (*s->p && !strchr(" \t\r\n", *s->p)) {
        if (*s->p == '\'' || *s->p == '"') {
            if (!quoted(s, word))
                return false;
            continue;
        }
        if (joined(s))
            continue;
        if (*s->p == '\\' && s->p[1])
            step(s);
        strbuf_addch(word, *s->p);
        step(s);
    }
    return true;
}

static const struct atfile *open_file(const char *path, const struct atfile *parent,
                                      const char *origin, struct arena *mem,
                                      struct problems *p)
{
    struct atfile *f = arena_new(mem, sizeof(*f));
    char *dir = parent ? path_dirname(parent->path) : xstrdup("."), *real;

    f->path = *path == '/' || !strcmp(dir, ".") ? arena_strdup(mem, path)
                                                : arena_printf(mem, "%s/%s", dir, path);
    free(dir);
    f->parent = parent;
    real = realpath(f->path, NULL);
    if (!real) {
        problems_error(p, origin, "cannot read '%s': %s", f->path, file_strerror(errno));
        return NULL;
    }
    f->real = arena_strdup(mem, real);
    free(real);
    for (const struct atfile *up = parent; up; up = up->parent) {
        if (!strcmp(up->real, f->real)) {
            problems_error(p, origin, "@%s includes itself", path);
            return NULL;
        }
    }
    return f;
}

struct atword *atfile_read(const char *path, const struct atfile *parent,
                           const char *origin, struct arena *mem, struct problems *p,
                           int *n)
{
    const struct atfile *f = open_file(path, parent, origin, mem, p);
    struct strbuf word = STRBUF_INIT;
    struct atword *words = NULL;
    size_t len = 0;
    int cap = 0;
    char *text = f ? file_read_stream(f->path, BYTES_MAX, &len) : NULL;
    const char *start = text;

    *n = 0;
    if (f && !text)
        problems_error(p, origin, "cannot read '%s': %s", f->path, file_strerror(errno));
    if (text && strlen(text) != len) {
        problems_error(p, origin, "'%s' is not a text file: it contains a zero byte",
                       f->path);
        text[0] = '\0';
    }
    if (text && !strncmp(text, BYTE_ORDER_MARK, 3))
        start += 3;
    for (struct splitter s = {start, start, 1}; text;) {
        const char *cursor;

        skip_blanks(&s);
        if (!*s.p)
            break;
        cursor = arena_printf(mem, "%s:%d:%d", f->path, s.nline, (int)(s.p - s.line) + 1);
        if (!next_word(&s, &word)) {
            problems_error(p, cursor, "a quote is not closed");
            break;
        }
        GROW(words, *n, cap);
        words[(*n)++] = (struct atword){arena_strdup(mem, word.buf), cursor, f};
    }
    strbuf_release(&word);
    free(text);
    return words;
}
