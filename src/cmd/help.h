/*
 * Help texts of flags, shared by `trainc help`, completion (cmd/completion.c), and manual
 * pages (cmd/manual.c).
 */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "config/schema.h"

/* Prints the text wrapped, starting in `column`; further lines start at `indent`. */
void help_wrap(const char *text, int indent, int column);
/* Prints a name and, in the second column, its help. */
void help_line(const char *name, const char *help);
/* Prints the flag of a key and its help. */
void help_flag(const struct schema *row);

/* Appends the names: "--lr, --base-lr LR", "--amp, --no-amp". */
void help_add_names(struct strbuf *s, const struct schema *row);
/* Appends the help: "TRAIN.BASE_LR: ... (default: ...)". */
void help_add_text(struct strbuf *s, const struct schema *row);

/* Returns the flags that all verbs share; {0} ends the list. A verb that parses its own
 * arguments and reads no keys has only --help. NULL: those of all verbs. */
const struct cmd_flag *help_common_flags(const struct verb *v);

/* Prints the completion script of a shell; exits if the shell is unknown. */
void completion_print(const char *shell);
/* Prints a page of the documentation ("keys", "flags", or "layers"); exits if the page is unknown. */
void markdown_print(const char *page);
/* Prints the ops of MODEL.LAYERS ("layers") or one of them; false if it is neither. */
bool help_layers(const char *topic);
/* Prints the manual page of a verb, or of trainc (NULL), with man macros. */
void manual_print(const struct verb *v);

#endif
