/*
 * Did you mean ...? The nearest of several names, by edits (insert, drop, change, swap
 * two neighbours), upper and lower case alike, `-` and `_` alike.
 *
 *   struct suggest s;
 *   suggest_init(&s, "TRAIN.EPOCHZ");
 *   suggest_try(&s, "TRAIN.EPOCHS"); ...
 *   if (s.best) ...        the nearest name that is near enough, else NULL
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

struct suggest {
    const char *wanted, *best; /* best is one of the names that were tried */
    int distance;
};

void suggest_init(struct suggest *s, const char *wanted);
void suggest_try(struct suggest *s, const char *name);

#endif
