/*
 * JSON, written by a small streaming writer and read by jansson.
 *
 *   struct strbuf text = STRBUF_INIT;
 *   struct json_writer w = json_writer(&text);
 *
 *   json_begin_object(&w, NULL);
 *   json_put_double(&w, "loss", 0.25);
 *   json_begin_array(&w, "dims");
 *   json_put_int(&w, NULL, 64);          (no keys inside an array)
 *   json_end(&w);
 *   json_end(&w);                        text is {"loss":0.25,"dims":[64]}
 *
 * The writer owns nothing. Numbers have the fewest digits that give the same double (or
 * float) when read; NaN and infinities, which JSON lacks, become null. Strings are
 * escaped (utf8_unsafe), and bytes that are not UTF-8 become U+FFFD. Misuse (a key inside
 * an array, none inside an object, an extra end) is a BUG.
 *
 * The reader is strict: repeated keys, trailing text, invalid UTF-8, and nesting deeper
 * than 2048 are errors. The DOM is jansson's; free it with json_decref().
 */
#ifndef IO_JSON_H
#define IO_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct json_writer {
    struct strbuf *out;
    int depth;
    bool pretty;    /* one member per line; set it before the first call */
    char stack[32]; /* '{' or '[' for each open level */
    bool filled[32];
};

static inline struct json_writer json_writer(struct strbuf *out)
{
    return (struct json_writer){.out = out};
}

/* `key` is NULL in arrays and for the outermost value. */
void json_begin_object(struct json_writer *w, const char *key);
void json_begin_array(struct json_writer *w, const char *key);
void json_end(struct json_writer *w); /* ends an object or array */

void json_put_string(struct json_writer *w, const char *key, const char *value);
void json_put_double(struct json_writer *w, const char *key, double value);
void json_put_float(struct json_writer *w, const char *key, float value);
void json_put_int(struct json_writer *w, const char *key, int64_t value);
void json_put_bool(struct json_writer *w, const char *key, bool value);
void json_put_null(struct json_writer *w, const char *key);
/* Writes null for a number below `least`, which means unknown. */
void json_put_known(struct json_writer *w, const char *key, int64_t value, int64_t least);

/*
 * Appends a number in the writer's format: the fewest digits that strtod reads back as
 * the same double, or strtof as the same float.
 */
void json_add_double(struct strbuf *s, double value);
void json_add_float(struct strbuf *s, float value);

/* Returns NULL and appends the reason, with line and column, on errors. */
json_t *json_parse(const char *text, size_t len, struct strbuf *why);
json_t *json_parse_file(const char *path, struct strbuf *why);

#endif
