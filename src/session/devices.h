/*
 * The one table of backends, best first. DEVICE auto is the first that this machine can
 * run, and the log says why a better one cannot.
 */
#ifndef SESSION_DEVICES_H
#define SESSION_DEVICES_H

#include "graph/backend.h"

struct config;
struct problems;

extern const struct backend *const device_table[]; /* NULL ends it */

/* Can this machine run it? If not, `why` gets one line; it may be NULL. */
bool device_available(const struct backend *b, int index, struct strbuf *why);

/*
 * The backend that DEVICE names: "auto", "cpu", "ref", "cuda", "cuda:1", and how to open
 * it: o->index is the number behind the colon, o->description "h200" or the JSON file of
 * a GPU that is not here. Dies if this build does not have it.
 */
const struct backend *device_find(const char *device, struct device_options *o);

/* device_find of DEVICE, and everything else that the configuration says of devices.
 * Texts in *o belong to `cfg` or to the program. */
const struct backend *device_options(const struct config *cfg, struct device_options *o);

/* For the check() of verbs that run something: DEVICE must not be a description. */
void device_check(const struct config *cfg, struct problems *p);

#endif
