/*
 * A growing string. `buf` is always NUL-terminated and never NULL after strbuf_init or
 * any other call; STRBUF_INIT is a valid empty one. strbuf_release frees the memory and
 * leaves an empty strbuf; strbuf_detach passes the memory to the caller, who frees it.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

struct strbuf {
    char *buf;
    size_t len, cap;
};

extern char strbuf_empty[];
#define STRBUF_INIT                                                                      \
    {                                                                                    \
        .buf = strbuf_empty                                                              \
    }

void strbuf_init(struct strbuf *s);
void strbuf_release(struct strbuf *s);
void strbuf_reset(struct strbuf *s); /* empty, memory kept */
char *strbuf_detach(struct strbuf *s);

void strbuf_add(struct strbuf *s, const void *data, size_t len);
void strbuf_addstr(struct strbuf *s, const char *str);
void strbuf_addch(struct strbuf *s, char c);
__attribute__((format(printf, 2, 3))) void strbuf_addf(struct strbuf *s, const char *fmt,
                                                       ...);
__attribute__((format(printf, 2, 0))) void strbuf_addv(struct strbuf *s, const char *fmt,
                                                       va_list ap);

/* "1,234,567", "12.3 MiB", "1:02:03": numbers in tables and logs. */
void strbuf_add_grouped(struct strbuf *s, long long value);
void strbuf_add_bytes(struct strbuf *s, double bytes);
void strbuf_add_duration(struct strbuf *s, double seconds);

#endif
