/* SHA-256 (FIPS 180-4), for checksums that others' file names carry. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64]; /* what is not hashed yet */
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_end(struct sha256 *s, char hex[65]);

/* The sum of a whole file; -1 with errno. */
int sha256_file(const char *path, char hex[65]);

#endif
