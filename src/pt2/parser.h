/* What the files that parse a program share. */
#ifndef PT2_PARSER_H
#define PT2_PARSER_H

#include "io/json.h"
#include "pt2/program.h"

struct pt2_parser {
    struct pt2_program *p;
    json_t *tied;
    struct strbuf *why;
};

/* Returns a copy of a string that lives as long as the program; NULL if v is none. */
const char *pt2_text_of(struct pt2_parser *c, json_t *v);
/* Returns zeros for n items, and one more. */
void *pt2_room(struct pt2_parser *c, size_t n, size_t each);
/* Keeps the first reason. Returns false. */
__attribute__((format(printf, 2, 3))) bool pt2_fail(struct pt2_parser *c, const char *fmt,
                                                    ...);
/* Returns the only member of an object, a tagged union, and sets its tag; or NULL. */
json_t *pt2_tagged(json_t *v, const char **tag);
/* Parses an argument or result of a node. Returns false if it is not read. */
bool pt2_parse_arg(struct pt2_parser *c, json_t *v, struct pt2_arg *dst);

#endif
