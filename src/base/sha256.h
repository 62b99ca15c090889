/* SHA-256 (FIPS 180-4), for the checksums in names of downloaded files. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64]; /* bytes not hashed yet */
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_end(struct sha256 *s, char hex[65]);

/* Hashes a whole file; returns -1 with errno on errors. */
int sha256_file(const char *path, char hex[65]);

#endif
