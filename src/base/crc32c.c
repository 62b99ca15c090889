#include "base/crc32c.h"

#include <pthread.h>

enum { SLICES = 8 };

/* table[k][b]: the CRC of byte b followed by k zero bytes. */
static uint32_t table[SLICES][256];
static pthread_once_t table_made = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        table[0][b] = crc;
    }
    for (int k = 1; k < SLICES; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

/* Eight bytes per round ("slicing by 8"), then one at a time. */
uint32_t crc32c(const void *data, size_t len)
{
    const unsigned char *p = data;
    uint32_t crc = 0xffffffffu;

    pthread_once(&table_made, make_table);
    for (; len >= SLICES; p += SLICES, len -= SLICES) {
        uint32_t next = 0;

        for (int i = 0; i < SLICES; i++) {
            uint32_t byte = p[i] ^ (i < 4 ? crc >> 8 * i & 255 : 0);

            next ^= table[SLICES - 1 - i][byte];
        }
        crc = next;
    }
    for (; len; p++, len--)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}
