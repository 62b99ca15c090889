/* For tests of what ends the program. */
#ifndef TESTS_LAST_WORDS_H
#define TESTS_LAST_WORDS_H

/* Runs fn(arg) in a child; returns what it says on stderr, its exit code in *code. */
char *last_words(void (*fn)(const void *), const void *arg, int *code);

/* Fails unless fn(arg) ends with 1 and says `why`. */
void check_dies(void (*fn)(const void *), const void *arg, const char *why);

#endif
