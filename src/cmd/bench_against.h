/*
 * trainc bench --against FILE: compares a result with an earlier one, for CI. Results are
 * written by `bench --json`, `bench --loader --json`, `bench --ops --json`, and
 * `train --result`.
 *
 * Compares images_per_second or, for --ops, the time of each kernel call. The ratio is
 * new speed / old speed; 1 means equally fast.
 */
#ifndef CMD_BENCH_AGAINST_H
#define CMD_BENCH_AGAINST_H

#include "config/cmdline.h"
#include "config/problems.h"

#define BENCH_AGAINST_RATIO 0.9 /* where --min-ratio is not given */

/* Checks --against, --measured, and --min-ratio before anything runs. */
void bench_against_check(const struct cmdline *line, struct problems *p);

/* Prints both speeds and their ratio. Exits with code 2 if the results are not comparable,
 * and with 1 if the ratio is below `least`. now: JSON text; now_name: its name in
 * messages. */
void bench_against(const char *now, const char *now_name, const char *before,
                   double least);

#endif
