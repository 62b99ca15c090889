/*
 * The mistakes and warnings found so far, in order, so that all of them can be told at
 * once. A message starts with where it is: "configs/a.yaml:3:5: unknown key TRAIN.X".
 * The same message twice counts once; after the first hundred they are only counted.
 */
#ifndef CONFIG_PROBLEMS_H
#define CONFIG_PROBLEMS_H

#include <stdbool.h>

/* UNREAD: a warning that a key has no effect. */
enum { PROBLEM_ERROR, PROBLEM_WARNING, PROBLEM_NOTE, PROBLEM_UNREAD };
enum { PROBLEMS_MOST = 100 };

struct problems {
    struct problem {
        char *text;
        int kind;  /* PROBLEM_... */
        bool file; /* it is about a line of a file */
    } * item;
    int n, cap, nerror;
    int nmore; /* errors and warnings beyond PROBLEMS_MOST, which are only counted */
    int nkey;  /* of the errors, those in a key that is known and marked as bad */
};

/* `where` may be NULL or empty: then the message stands alone. */
__attribute__((format(printf, 3, 4))) void
problems_error(struct problems *p, const char *where, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void
problems_warn(struct problems *p, const char *where, const char *fmt, ...);

/* "WHERE: KEY has no effect: WHY". */
__attribute__((format(printf, 4, 5))) void problems_unread(struct problems *p,
                                                           const char *where,
                                                           const char *key,
                                                           const char *fmt, ...);

__attribute__((format(printf, 3, 4))) void
problems_note(struct problems *p, const char *where, const char *fmt, ...);

/* Forgets warnings of keys that a file sets and that have no effect. */
void problems_drop_unread(struct problems *p);

/* Prints all, as "trainc: error: ..." (or warning, note), then forgets them. */
void problems_print(struct problems *p);
void problems_release(struct problems *p);

#endif
