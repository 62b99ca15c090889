/*
 * The one table of devices, best first, each a backend. DEVICE auto is the first that
 * this machine can run; the log of a training run says why a better one cannot. A new
 * backend is its folder and a row in devices.c.
 */
#ifndef SESSION_DEVICES_H
#define SESSION_DEVICES_H

#include "base/names.h"
#include "graph/backend.h"

struct config;
struct problems;

/* The backends of this build, best first; NULL: beyond the last. */
const struct backend *device_at(int i);

/* What DEVICE may be, backends that other builds have included. */
extern const struct names device_names;

/* Can this machine run it? If not, `why` gets one line; it may be NULL. */
bool device_available(const struct backend *b, int index, struct strbuf *why);

/* What DEVICE auto passes over and why: "cuda: there is no NVIDIA driver", or nothing. */
void device_add_passed_over(struct strbuf *out);

/*
 * The backend that DEVICE names: "auto", "cpu", "ref", "cuda", "cuda:1", "cuda:0,1", and
 * how to open it: o->index is the first number after the colon, o->description "h200" or
 * the JSON file of a device that is not here. Dies if this build does not have it.
 */
const struct backend *device_find(const char *device, struct device_options *o);

/* device_find of DEVICE, and everything else that the configuration says of devices; of
 * several processes or threads each gets the number of its own.
 * Texts in *o belong to `cfg` or to the program. */
const struct backend *device_options(const struct config *cfg, struct device_options *o);

/* How many devices DEVICE names: cuda:0,1 two. */
enum { DEVICES_MOST = 64 };
int device_count(const struct config *cfg);

/* Can processes with such devices do without MPI? */
bool device_links(const struct config *cfg);

/* fn(arg) in a thread for each device of DEVICE (dist/threads.h); what the first returns.
 * Before dist_open. */
int device_threads(const struct config *cfg, int (*fn)(void *arg), void *arg);

/* For the check() of verbs: DEVICE is one that this build has; */
void device_check(const struct config *cfg, struct problems *p);
/* ... and, where something is to run, is here: no description. */
void device_check_run(const struct config *cfg, struct problems *p);
/* ... and one. */
void device_check_one(const struct config *cfg, struct problems *p);

#endif
