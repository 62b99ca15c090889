/* Memory and a stream for tests of the emulator; a failed call fails the test. */
#ifndef TESTS_EMULATOR_SELF_FIXTURE_H
#define TESTS_EMULATOR_SELF_FIXTURE_H

#include "cuda/device.h"

#define OK(call) assert_int_equal((call), cudaSuccess)

enum { BLOCKS = 5, N = BLOCKS * 64 };

/* A stream and two device buffers; x holds 1, 2, 3 ... */
struct fixture {
    struct device dev;
    float *x, *y;
    float host[N];
};

void fixture_init(struct fixture *f);
void fixture_release(struct fixture *f);

/* Copies `src`, a device buffer, to f->host, after the work in the stream. */
void fixture_fetch(struct fixture *f, const void *src);

#endif
