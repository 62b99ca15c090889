/*
 * A file that grows at its end and is mapped by several processes at once, with a place
 * in it for each of n samples: where the cache of decoded images keeps them if it is
 * shared.
 *
 *   f = cache_file_open(path, n, bytes, &why);
 *   void *p = cache_file_room(f, size);        memory of this caller alone
 *   cache_file_publish(f, sample, old, p);     from now on everybody's
 *   p = cache_file_at(f, sample, size);        of at least so many bytes
 *
 * Space is taken from the disk before it is written, so a full disk is no crash. What is
 * published stays where it is as long as the file is open. A machine that goes down may
 * leave anything: the caller has to check what it finds. Private to src/dataset.
 */
#ifndef DATASET_CACHE_FILE_H
#define DATASET_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct cache_file;

/* Opens the file, or makes it for n samples and `bytes` at most; one of other samples, or
 * that is none, is made anew. With `bytes` 0 nothing is made. NULL and a reason. */
struct cache_file *cache_file_open(const char *path, int64_t n, int64_t bytes,
                                   struct strbuf *why);
void cache_file_close(struct cache_file *f);

/* NULL: there is no room, or none on the disk. 16-byte aligned, zeros. */
void *cache_file_room(struct cache_file *f, size_t size);

/* The sample's memory, NULL: none, or less than `size` of it lies in the file. */
void *cache_file_at(const struct cache_file *f, int64_t sample, size_t size);

/* How many bytes lie in the file from p on. */
size_t cache_file_rest(const struct cache_file *f, const void *p);

/* False: it is not `old` (NULL: nothing) any more, and p is lost. */
bool cache_file_publish(struct cache_file *f, int64_t sample, const void *old,
                        const void *p);

int64_t cache_file_used(const struct cache_file *f); /* bytes of samples, of all */
int64_t
cache_file_limit(const struct cache_file *f); /* of which there is room for so many */
int64_t cache_file_count(const struct cache_file *f); /* samples that have a place */

#endif
