/* Command lines in a table, for tests of the parser. */
#ifndef TESTS_CONFIG_CMDLINE_ROWS_H
#define TESTS_CONFIG_CMDLINE_ROWS_H

#include "base/strbuf.h"
#include "config/cmdline.h"

/* Words are separated by |. `want`: as cmdline_show has it; `says`: its mistakes. */
struct cmdline_row {
    const char *words, *want, *says;
};

/* --json FILE, and the switches -q, --quiet and -v, --verbose. */
extern const struct cmd_flag cmdline_own[];

void cmdline_parse_words(struct cmdline *line, const struct cmd_spec *spec,
                         const char *words, struct problems *p);

/* What the line holds: "cfg:FILE opt:KEY=VALUE KEY=VALUE own:--json=FILE arg:A
 * rest:B". */
void cmdline_show(struct strbuf *s, const struct cmdline *line);

/* Fails unless the row says and sets what it should, also when its words are read again
 * from a file, as overrides.txt of a run. */
void cmdline_compare(const struct cmdline_row *row, const struct cmd_spec *spec);

#endif
