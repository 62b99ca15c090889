/*
 * The ways to speak of trouble, as in git.
 *
 *   BUG(...)    our fault: prints the place in the source and aborts
 *   die(...)    the user's or the machine's fault: one line to stderr, exit 1
 *   usage(...)  a mistake on the command line or in a configuration: one line, exit 2
 *   busy(...)   another process has what this one needs: try again later, exit 75
 *   warn(...)   the run goes on
 *
 * Messages are lower case, without a full stop, the subject quoted, what failed first:
 * "cannot open '%s': %s". A function returns an error only if its caller can do
 * something else; then it fills a strbuf with the reason.
 *
 * error_at_exit() registers one function that die(), usage(), and busy() call before they
 * leave,
 * so that a run can write its result file with the exit code.
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
 * In place: control characters become '?'. All messages go through it, and the log: file
 * names and texts of others may hold anything, and a message is one line.
 */
void one_line(char *text);

/* `fn` gets the message and the exit code; one function at a time, NULL removes it. */
void error_at_exit(void (*fn)(const char *message, int code, void *arg), void *arg);

/* For one process of several: messages of others than rank 0 name theirs, and die() and
 * usage() call `end_all` last, which ends them all; NULL: not any more. */
void error_rank(int rank, void (*end_all)(int code));

#ifdef __cplusplus
}
#endif
#endif
