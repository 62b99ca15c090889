/*
 * Errors, as in git.
 *
 *   BUG(...)    a bug: prints the place in the source and aborts
 *   die(...)    an error of the user or the machine: one line to stderr, exit 1
 *   usage(...)  an error on the command line or in a configuration: one line, exit 2
 *   busy(...)   another process uses a resource: try again later, exit 75
 *   warn(...)   the run continues
 *
 * Messages are lower case, without a full stop, the subject quoted, the failed action
 * first: "cannot open '%s': %s". A function returns an error only if its caller can
 * handle it; then it appends the reason to a strbuf.
 *
 * error_at_exit() registers one function that die(), usage(), and busy() call before they
 * exit, so that a run can write its result file with the exit code.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_BUSY = 75 /* EX_TEMPFAIL */ };

#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 3, 4), noreturn)) void bug_at(const char *file, int line,
                                                            const char *fmt, ...);
__attribute__((format(printf, 1, 2), noreturn)) void die(const char *fmt, ...);
__attribute__((format(printf, 1, 2), noreturn)) void usage(const char *fmt, ...);
__attribute__((format(printf, 1, 2), noreturn)) void busy(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void warn(const char *fmt, ...);

/*
 * Replaces control characters by '?' in place. All messages and the log use it: file
 * names and foreign text may contain anything, and a message is one line.
 */
void one_line(char *text);

/* `fn` receives the message and the exit code; only one function at a time, NULL removes
 * it. */
void error_at_exit(void (*fn)(const char *message, int code, void *arg), void *arg);

/* For several processes: messages of ranks other than 0 include the rank, and die() and
 * usage() finally call `end_all`, which ends all processes; NULL removes it. */
void error_rank(int rank, void (*end_all)(int code));

#ifdef __cplusplus
}
#endif
#endif
