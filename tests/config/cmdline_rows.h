/* Tables of command lines, for tests of the parser. */
#ifndef TESTS_CONFIG_CMDLINE_ROWS_H
#define TESTS_CONFIG_CMDLINE_ROWS_H

#include "base/strbuf.h"
#include "config/cmdline.h"

/* Words are separated by |. `want`: output of cmdline_show; `says`: messages. */
struct cmdline_row {
    const char *words, *want, *says;
};

/* --json FILE, and the switches -q, --quiet and -v, --verbose. */
extern const struct cmd_flag cmdline_own[];

void cmdline_parse_words(struct cmdline *line, const struct cmd_spec *spec,
                         const char *words, struct problems *p);

/* Adds the parsed line: "cfg:FILE opt:KEY=VALUE KEY=VALUE own:--json=FILE arg:A
 * rest:B". */
void cmdline_show(struct strbuf *s, const struct cmdline *line);

/* Fails unless the row gives its settings and messages, also when its words are read from
 * a file such as a run's overrides.txt. */
void cmdline_compare(const struct cmdline_row *row, const struct cmd_spec *spec);

#endif
