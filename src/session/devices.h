/*
 * The table of devices, best first; each is a backend. DEVICE auto selects the first that
 * this machine can run; the log of a training run says why a better one cannot run. A new
 * backend is a folder and a row in devices.c.
 */
#ifndef SESSION_DEVICES_H
#define SESSION_DEVICES_H

#include "base/names.h"
#include "graph/backend.h"

struct config;
struct problems;

/* Returns backend i of this build, best first, or NULL after the last. */
const struct backend *device_at(int i);

/* Values of DEVICE, including backends that other builds have. */
extern const struct names device_names;

/* True if this machine can run it. Otherwise appends the reason to `why` (one line; may
 * be NULL). */
bool device_available(const struct backend *b, int index, struct strbuf *why);

/* Appends why DEVICE auto skipped better devices, or nothing. */
void device_add_passed_over(struct strbuf *out);

/*
 * Returns the backend that DEVICE names ("auto", "cpu", "ref", "cuda", "cuda:1",
 * "cuda:0,1") and sets o->index to the first number after the colon, or o->description to
 * "h100", "h200", or the JSON file of a device that is not installed here. Dies if this build does
 * not have it.
 */
const struct backend *device_find(const char *device, struct device_options *o);

/* device_find() of DEVICE, plus all other options for the device in the configuration.
 * Each of several processes or threads gets its own device number. Strings in *o belong
 * to `cfg` or are static. */
const struct backend *device_options(const struct config *cfg, struct device_options *o);

/* Returns the number of devices that DEVICE names: 2 for cuda:0,1. */
enum { DEVICES_MAX = 64 };
int device_count(const struct config *cfg);

/* True if processes with such devices can communicate without MPI. */
bool device_links(const struct config *cfg);

/* Runs fn(arg) in a thread per device of DEVICE (dist/threads.h) and returns the result
 * of the first. Call before dist_open. */
int device_threads(const struct config *cfg, int (*fn)(void *arg), void *arg);

/* For a verb's check(): DEVICE must exist in this build. */
void device_check(const struct config *cfg, struct problems *p);
/* DEVICE must also be installed here, not only described. */
void device_check_run(const struct config *cfg, struct problems *p);
/* DEVICE must also be a single device. */
void device_check_one(const struct config *cfg, struct problems *p);

#endif
