/*
 * trainc bench --against FILE: a result beside an earlier one, for CI. A result is what
 * `bench --json`, `bench --loader --json`, `bench --ops --json` or `train --result`
 * wrote.
 *
 * Compared is the speed: images_per_second, or each step of the op table by its time. The
 * ratio is the new speed over the old one; 1 is as fast as before.
 */
#ifndef CMD_BENCH_AGAINST_H
#define CMD_BENCH_AGAINST_H

#include "config/cmdline.h"
#include "config/problems.h"

#define BENCH_AGAINST_RATIO 0.9 /* where --min-ratio is not given */

/* --against, --measured and --min-ratio: what is wrong with them before anything runs. */
void bench_against_check(const struct cmdline *line, struct problems *p);

/* Prints both and the ratio; exits with one line if they are of different things (2), or
 * the ratio is below `least` (1). `now` is JSON text, `now_name` what it is called. */
void bench_against(const char *now, const char *now_name, const char *before,
                   double least);

#endif
