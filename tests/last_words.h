/* For tests of what ends the program. */
#ifndef TESTS_LAST_WORDS_H
#define TESTS_LAST_WORDS_H

/*
 * For a child that was forked: die() and usage() leave it at once. Handlers of exit() are
 * the parent's; that of an OpenMP runtime crashes where its threads are not.
 */
void last_words_leave(void);

/* Runs fn(arg) in a child; returns what it says on stderr, its exit code in *code. */
char *last_words(void (*fn)(const void *), const void *arg, int *code);

/* Fails unless fn(arg) ends with 1 and says `why`. */
void check_dies(void (*fn)(const void *), const void *arg, const char *why);

#endif
