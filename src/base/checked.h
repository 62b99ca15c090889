/*
 * Checks numbers from files before they become sizes, indices, or offsets. Numbers in a
 * file (a header, an index, an archive) are untrusted. Each function returns false for a
 * number that does not fit; its result is then undefined.
 *
 *   if (!checked_within(row.at, row.len, file_size))
 *      return "its table points outside the file";
 */
#ifndef BASE_CHECKED_H
#define BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool checked_add(uint64_t a, uint64_t b, uint64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline bool checked_mul(uint64_t a, uint64_t b, uint64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* True if bytes [at, at + len) lie in the first `size`. */
static inline bool checked_within(uint64_t pos, uint64_t len, uint64_t size)
{
    return pos <= size && len <= size - pos;
}

/* True if `count` items of `each` bytes fit into `size` bytes. */
static inline bool checked_items(uint64_t count, uint64_t each, uint64_t size)
{
    uint64_t need;

    return checked_mul(count, each, &need) && need <= size;
}

/* Computes the bytes of an array of n dimensions with elements of `each` bytes.
 * Dimensions must not be negative; if one is 0, the product of the others must fit, too. */
static inline bool checked_array(const int64_t *dim, int n, uint64_t each,
                                 uint64_t *bytes)
{
    uint64_t product = each;
    bool none = false;

    for (int i = 0; i < n; i++) {
        if (dim[i] < 0 || !checked_mul(product, dim[i] ? (uint64_t)dim[i] : 1, &product))
            return false;
        none = none || dim[i] == 0;
    }
    *bytes = none ? 0 : product;
    return true;
}

/* Reads a decimal number up to `max` at *text and moves *text past it. Accepts neither
 * blanks nor a sign, unlike strtol(), which also saturates. */
static inline bool checked_number(const char **text, uint64_t max, uint64_t *number)
{
    const char *cursor = *text;

    *number = 0;
    for (; *cursor >= '0' && *cursor <= '9'; cursor++)
        if (!checked_mul(*number, 10, number) ||
            !checked_add(*number, (uint64_t)(*cursor - '0'), number))
            return false;
    if (cursor == *text || *number > max)
        return false;
    *text = cursor;
    return true;
}

#endif
