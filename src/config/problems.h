/*
 * Collects errors and warnings, in order, so that all can be reported at once. A message
 * starts with its origin: "configs/a.yaml:3:5: unknown key TRAIN.X". Repeated messages
 * are dropped; those beyond the first hundred are only counted.
 */
#ifndef CONFIG_PROBLEMS_H
#define CONFIG_PROBLEMS_H

#include <stdbool.h>

/* UNREAD: a warning that a key has no effect. */
enum { PROBLEM_ERROR, PROBLEM_WARNING, PROBLEM_NOTE, PROBLEM_UNREAD };
enum { PROBLEMS_MAX = 100 };

struct problems {
    struct problem {
        char *text;
        int kind;  /* PROBLEM_... */
        bool file; /* the origin is a line of a file */
    } * item;
    int n, cap, nerror;
    int nmore; /* errors and warnings beyond PROBLEMS_MAX, which are not stored */
    int nkey;  /* number of errors in known keys, which are marked as bad */
};

/* `origin` may be NULL or empty: then the message has no prefix. */
__attribute__((format(printf, 3, 4))) void
problems_error(struct problems *p, const char *origin, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void
problems_warn(struct problems *p, const char *origin, const char *fmt, ...);

/* "WHERE: KEY has no effect: WHY". */
__attribute__((format(printf, 4, 5))) void problems_unread(struct problems *p,
                                                           const char *origin,
                                                           const char *key,
                                                           const char *fmt, ...);

__attribute__((format(printf, 3, 4))) void
problems_note(struct problems *p, const char *origin, const char *fmt, ...);

/* Removes warnings about keys without effect that were set in files. */
void problems_drop_unread(struct problems *p);

/* Prints all as "trainc: error: ..." (or warning, note), then clears the list. */
void problems_print(struct problems *p);
void problems_release(struct problems *p);

#endif
