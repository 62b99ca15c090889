#include "io/safetensors_sum.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/error.h"

struct safetensors_sum {
    XXH3_state_t *state;
};

/* Quotes inside JSON strings are escaped, so this text can only be the key. */
char *safetensors_sum_find(char *header)
{
    static const char key[] = "\"" SAFETENSORS_SUM_KEY "\":\"";
    char *cursor = strstr(header, key);

    cursor = cursor ? cursor + strlen(key) : NULL;
    return cursor && strlen(cursor) > SAFETENSORS_SUM_DIGITS ? cursor : NULL;
}

struct safetensors_sum *safetensors_sum_new(const char *header, size_t header_size)
{
    struct safetensors_sum *sum = xmalloc(sizeof(*sum));
    uint64_t prefix = header_size;
    char *copy = xstrndup(header, header_size), *cursor = safetensors_sum_find(copy);

    sum->state = XXH3_createState();
    if (!sum->state)
        die("out of memory: no room for a checksum");
    if (cursor)
        memset(cursor, '0', SAFETENSORS_SUM_DIGITS);
    (void)XXH3_64bits_reset(sum->state);
    safetensors_sum_add(sum, &prefix, sizeof(prefix));
    safetensors_sum_add(sum, copy, header_size);
    free(copy);
    return sum;
}

void safetensors_sum_add(struct safetensors_sum *sum, const void *data, size_t len)
{
    (void)XXH3_64bits_update(sum->state, data, len);
}

void safetensors_sum_free(struct safetensors_sum *sum, char *digits)
{
    (void)snprintf(digits, SAFETENSORS_SUM_DIGITS + 1, "%016" PRIx64,
                   (uint64_t)XXH3_64bits_digest(sum->state));
    (void)XXH3_freeState(sum->state);
    free(sum);
}
