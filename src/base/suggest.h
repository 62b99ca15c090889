/*
 * "Did you mean ...?": finds the nearest of several names by edits (insert, delete,
 * replace, swap neighbors), ignoring case and the difference between `-` and `_`.
 *
 *   struct suggest s;
 *   suggest_init(&s, "TRAIN.EPOCHZ");
 *   suggest_try(&s, "TRAIN.EPOCHS"); ...
 *   if (s.best) ...        the nearest name if it is near enough, else NULL
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

struct suggest {
    const char *wanted, *best; /* `best` points to one of the names tried */
    int distance;
};

void suggest_init(struct suggest *s, const char *wanted);
void suggest_try(struct suggest *s, const char *name);

#endif
