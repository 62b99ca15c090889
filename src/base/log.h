/*
 * The run's log: one line per event, to stderr, or to stdout if log_to_stdout() says so,
 * and, with the time in front, to the file of log_open, which begins with what was said
 * before the first one. log_once says a thing once per process (keyed by its text). A
 * progress line on a terminal is not the log's business: whoever draws one registers
 * log_before_line() to wipe it first. Thread-safe.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Lines above `level` are not shown; the file gets everything up to INFO. */
void log_level_set(enum log_level level);
/* Until it is called with false, this thread says errors alone, and writes nothing to the
 * file. */
void log_mute(bool on);

/*
 * For a program whose log is its output. Each line is flushed. One that cannot be written
 * is told once, on stderr, and the program goes on; stdout counts as good again.
 */
void log_to_stdout(void);

/* Appends to `path`. Dies if it cannot be opened. */
void log_open(const char *path);
void log_close(void);
void log_before_line(void (*wipe)(void));

__attribute__((format(printf, 1, 2))) void log_info(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void log_warning(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void log_debug(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void log_once(const char *fmt, ...);
/* To the file alone: what a progress line on the terminal already says. */
__attribute__((format(printf, 1, 2))) void log_quiet(const char *fmt, ...);

#endif
