/* An exported program, the JSON that a checkpoint carries: parses it and imports its graph for
 * training and for evaluation. Layers that do not fit their operands end the import like a
 * user's mistake. */
#include "fuzz.h"

#include <setjmp.h>
#include <string.h>

#include "base/error.h"
#include "ops/table.h"
#include "pt2/import.h"

static jmp_buf refused;

static void leave(const char *message, int code, void *arg)
{
    (void)message, (void)code, (void)arg;
    longjmp(refused, 1);
}

/* What a refusal leaves behind is released here. */
static struct graph *g;
static struct pt2_program *p;

static void import(bool training)
{
    struct builder b = {0};
    struct strbuf why = STRBUF_INIT;
    struct pt2_job job = {.program = p, .training = p, .aux = true};
    struct pt2_results r;
    struct tensor *x;
    int64_t dim[4] = {2, 3, 8, 8};

    for (int d = 1; d < 4 && p->input_meta->ndim == 4; d++)
        if (p->input_meta->dim[d] > 0 && p->input_meta->dim[d] <= 64)
            dim[d] = p->input_meta->dim[d];
    error_at_exit(leave, NULL); /* for one call */
    g = b.g = graph_new(&graph_ops_default, training);
    if (!setjmp(refused)) {
        x = graph_input(&b, "x", DTYPE_F32, LAYOUT_IMAGE, 4, dim);
        job.classes = pt2_head_of(p, &p->output).classes;
        if (!pt2_import(&b, &job, x, &r, &why))
            fuzz_expect(why.len > 0, "a refusal has a reason");
        strbuf_release(&why);
    }
    graph_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf why = STRBUF_INIT;

    p = pt2_program_parse((const char *)data, size, &why);
    if (p) {
        import(true);
        import(false);
        pt2_program_free(p);
    } else {
        fuzz_expect(why.len > 0, "a refusal has a reason");
    }
    strbuf_release(&why);
    error_at_exit(NULL, NULL);
    return 0;
}

/* A refusal leaves the import, and leaks its tables. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
