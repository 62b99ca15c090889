/*
 * What `trainc help` says of flags, for others who say it in another form: shells
 * (cmd/completion.c) and man (cmd/manual.c).
 */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "config/schema.h"

/* Prints words from `column` on, wrapped; every further line starts at `indent`. */
void help_wrap(const char *text, int indent, int column);
/* Prints a name and, in the second column, its help. */
void help_line(const char *name, const char *help);
/* The same of the flag of a key. */
void help_flag(const struct schema *row);

/* "--lr, --base-lr LR", "--amp, --no-amp" */
void help_add_names(struct strbuf *s, const struct schema *row);
/* "TRAIN.BASE_LR: ... (default: ...)" */
void help_add_text(struct strbuf *s, const struct schema *row);

/* Flags that a verb has beside its own, as all do: name and metavar, help. Ends with {0}.
 * Of one that reads its words itself and no keys, help alone; NULL: of all verbs. */
const struct cmd_flag *help_common_flags(const struct verb *v);

/* Prints the script that completes words of trainc in a shell; dies of another shell. */
void completion_print(const char *shell);
/* Prints a page of the documentation, "keys" or "flags"; ends the program for another. */
void markdown_print(const char *page);
/* Prints the manual page of a verb, or of trainc (NULL), in man's macros. */
void manual_print(const struct verb *v);

#endif
