/* Opens a row of the op table on the reference with inputs set by a test, for tests of
 * the meaning of ops. */
#ifndef TESTS_OPS_MEANING_H
#define TESTS_OPS_MEANING_H

#include <math.h>
#include <string.h>

#include "cases/case_build.h"
#include "cases/case_run.h"
#include "ops/reference.h"
#include "tests/test.h"

static inline void close_to(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.9g is not within %g of %.9g", got, tolerance, want);
}

static struct device *dev; /* open from setup() to teardown() */

/* Opens a row of the op table on the reference; the test sets the inputs. */
static inline void open_run(struct case_run *r, const struct op_case *row, enum dtype d)
{
    case_run_init(r, row, &backend_ref, dev, &(const struct case_options){.dtype = d});
}

static inline void *data(const struct case_run *r, const struct tensor *t)
{
    return program_data(r->program, t);
}

static inline void set(const struct case_run *r, int input, const void *v)
{
    const struct tensor *t = r->build.input[input].tensor;

    memcpy(data(r, t), v, tensor_size(t));
}

static inline const float *out(const struct case_run *r, int i)
{
    return data(r, r->build.out[i]);
}

static inline int setup(void **state)
{
    (void)state;
    dev = backend_ref.open(&(const struct device_options){0});
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    backend_ref.close(dev);
    return 0;
}

#endif
