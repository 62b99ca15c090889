/*
 * A command in one text, as words: blanks part them, '...' keeps what is inside as it is,
 * "..." and a backslash take the next character as it is where a shell does. Nothing is
 * expanded: no variables, no globs.
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

/* An array that ends with NULL, to be freed with words_free; NULL: a quote is not
 * closed. */
char **words_split(const char *text);
void words_free(char **words);

#endif
