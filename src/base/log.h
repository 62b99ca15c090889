/*
 * The run's log: one line per event, to stderr (or stdout after log_to_stdout()) and,
 * with the time prepended, to the file of log_open, which begins with the lines logged
 * before the first one. log_once logs a text once per process. Progress lines on a
 * terminal are not part of the log: their owner registers log_before_line() to erase them
 * first. Thread-safe.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Lines above `level` are not shown; the file receives everything up to INFO. */
void log_level_set(enum log_level level);
/* Until called with false, this thread shows only errors and writes nothing to the file. */
void log_mute(bool muted);

/*
 * For a program whose log is its output. Each line is flushed. The first failed write is
 * reported on stderr, and the program continues; afterwards stdout counts as working
 * again.
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
/* Logs only to the file what a progress line on the terminal already shows. */
__attribute__((format(printf, 1, 2))) void log_quiet(const char *fmt, ...);

#endif
