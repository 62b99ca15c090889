/*
 * A file that is read in pieces at given offsets. It is not mapped, so a file that
 * another program truncates gives an error instead of SIGBUS.
 *
 *   struct input in;
 *   if (input_open(&in, path, &why) || input_read(&in, head, 8, 0, &why)) ...
 *   input_close(&in);                          also after a failed open
 *
 * Functions return -1 and append a reason that begins with the path on errors.
 */
#ifndef IO_INPUT_H
#define IO_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"

struct input {
    char *path;
    int fd;
    uint64_t size; /* in bytes */
};

int input_open(struct input *in, const char *path, struct strbuf *why);
void input_close(struct input *in);

/* Reads len bytes at `offset`. Thread-safe. */
int input_read(const struct input *in, void *data, uint64_t len, uint64_t offset,
               struct strbuf *why);

/* Returns how many opens and reads in this thread failed because of the machine (EIO, no
 * descriptors: base/failure.h), which says nothing about the file. */
long input_machine_failures(void);

/* Appends "'PATH': reason" and returns -1. */
__attribute__((format(printf, 3, 4))) int
input_refuse(const struct input *in, struct strbuf *why, const char *fmt, ...);

/* True if the first 8 bytes are those of torch.save: a zip archive or, before PyTorch
 * 1.6, a pickle of protocol 2 (or 3 to 5). As the length of a safetensors header, the
 * bytes of a pickle exceed the maximum, which the caller must check. */
static inline bool input_is_torch(const void *start)
{
    const unsigned char *c = start;

    return !memcmp(c, "PK\003\004", 4) || (c[0] == 0x80 && c[1] >= 2 && c[1] <= 5);
}

#endif
