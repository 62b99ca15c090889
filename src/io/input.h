/*
 * A file that is read in pieces, each at its own place. Nothing is mapped: a file that is
 * cut short under our hands is an error and not a SIGBUS.
 *
 *   struct input in;
 *   if (input_open(&in, path, &why) || input_read(&in, head, 8, 0, &why)) ...
 *   input_close(&in);                          also after a failed open
 *
 * -1 is returned with a reason appended that begins with the path.
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
    uint64_t size; /* bytes */
};

int input_open(struct input *in, const char *path, struct strbuf *why);
void input_close(struct input *in);

/* The len bytes from `offset` on. May be called from several threads. */
int input_read(const struct input *in, void *data, uint64_t len, uint64_t offset,
               struct strbuf *why);

/* How often an open or a read of this thread failed because of the machine (EIO, no
 * descriptors: base/failure.h): whether the file is damaged is not known then. */
long input_machine_failures(void);

/* Appends "'PATH': reason"; -1, for the caller to return. */
__attribute__((format(printf, 3, 4))) int
input_refuse(const struct input *in, struct strbuf *why, const char *fmt, ...);

/* By a file's first 8 bytes: torch.save's begin as a zip archive or, before PyTorch 1.6,
 * as a pickle of protocol 2, or another that its caller asks for. As the length of a
 * safetensors header, a pickle's are more than any has; the caller looks at that. */
static inline bool input_is_torch(const void *start)
{
    const unsigned char *c = start;

    return !memcmp(c, "PK\003\004", 4) || (c[0] == 0x80 && c[1] >= 2 && c[1] <= 5);
}

#endif
