/*
 * Members of a zip archive as files of PyTorch have them, read through libzip. Sizes in the
 * archive's directory are claims of its author; functions append a reason that begins with
 * the path on errors.
 */
#ifndef IO_ZIP_ENTRY_H
#define IO_ZIP_ENTRY_H

#include <stdint.h>

#include "base/strbuf.h"
#include "io/input.h"

struct zip;

/* Opens the archive of an open file, whose descriptor it then owns. Returns NULL and a
 * reason on failure. Close it with zip_discard(). */
struct zip *zip_entry_open(struct input *in, struct strbuf *why);

/* The same for an archive in memory, which it frees later, also on failure; `in` is only
 * named in reasons. */
struct zip *zip_entry_open_bytes(const struct input *in, void *data, uint64_t size,
                                 struct strbuf *why);

/* Returns the index of a member, or -1 if the archive lacks it. */
int64_t zip_entry_find(struct zip *zip, const char *name);

/* Returns the size of a member in bytes. A stored member is never larger than the file,
 * whatever the directory claims. */
uint64_t zip_entry_size(const struct input *in, struct zip *zip, int64_t i);
/* Returns the inflated size of a compressed member; 0 if it is stored. */
uint64_t zip_entry_inflated(struct zip *zip, int64_t i);

/* Reads bytes [offset, offset + size) of a member. Reads to its end verify its checksum.
 * A compressed member can only be read from its start. */
int zip_entry_read(const struct input *in, struct zip *zip, uint64_t index,
                   uint64_t offset, uint64_t size, void *data, struct strbuf *why);

#endif
