/*
 * Splits a command into words, as a shell does: blanks separate them, '...' keeps
 * everything inside unchanged, "..." and a backslash quote the next character. Nothing is
 * expanded: no variables, no globs.
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

/* Returns an array ended by NULL (free it with words_free), or NULL if a quote is not
 * closed. */
char **words_split(const char *text);
void words_free(char **words);

#endif
