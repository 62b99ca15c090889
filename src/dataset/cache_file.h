/*
 * A file with a slot for each of n samples, which grows at its end and which several
 * processes map at once. The shared cache of decoded images stores its items in it.
 *
 *   f = cache_file_open(path, n, bytes, &why);
 *   void *p = cache_file_alloc(f, size);        private to this caller
 *   cache_file_publish(f, sample, old, p);     visible to all from now on
 *   p = cache_file_get(f, sample, size);        at least `size` bytes
 *
 * Disk space is allocated before it is written, so a full disk does not crash the
 * program. Published items stay at their address as long as the file is open. After a
 * power failure the file may contain anything: the caller validates what it reads.
 * Private to src/dataset.
 */
#ifndef DATASET_CACHE_FILE_H
#define DATASET_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct cache_file;

/* Opens the file, or creates it for n samples and at most `bytes`. An invalid file, or
 * one for another number of samples, is replaced. With `bytes` 0, no file is created.
 * Returns NULL and a reason on failure. */
struct cache_file *cache_file_open(const char *path, int64_t n, int64_t bytes,
                                   struct strbuf *why);
void cache_file_close(struct cache_file *f);

/* Returns memory aligned to 16 bytes, or NULL if the file or the disk is full. Not
 * necessarily zero: the file may come from elsewhere. */
void *cache_file_alloc(struct cache_file *f, size_t size);

/* Returns the sample's item, or NULL if there is none or if fewer than `size` bytes of it
 * are in the file. */
void *cache_file_get(const struct cache_file *f, int64_t sample, size_t size);

/* Returns the number of bytes from p to the end of the file. */
size_t cache_file_bytes_from(const struct cache_file *f, const void *p);

/* Makes p the sample's item if the current one is `old` (NULL: none). Otherwise returns
 * false, and p is wasted. */
bool cache_file_publish(struct cache_file *f, int64_t sample, const void *old,
                        const void *p);

int64_t cache_file_used(const struct cache_file *f);  /* bytes of all items */
int64_t cache_file_limit(const struct cache_file *f); /* maximum of cache_file_used */
int64_t cache_file_count(const struct cache_file *f); /* number of samples with an item */

#endif
