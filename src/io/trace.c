#include "io/trace.h"

#include <math.h>

#include "base/atomic.h"
#include "io/written.h"

enum { PROCESS = 1 };

void trace_init(struct trace *t, double zero)
{
    *t = (struct trace){.text = STRBUF_INIT, .zero = zero};
    t->w = json_writer(&t->text);
    written_begin(&t->w);
    json_put_string(&t->w, "displayTimeUnit", "ms");
    json_begin_array(&t->w, "traceEvents");
}

/* Starts an event that sets the name or position of a lane; it has no time. */
static void begin_meta(struct trace *t, const char *name, int lane)
{
    json_begin_object(&t->w, NULL);
    json_put_string(&t->w, "ph", "M");
    json_put_string(&t->w, "name", name);
    json_put_int(&t->w, "pid", PROCESS);
    json_put_int(&t->w, "tid", lane);
    json_begin_object(&t->w, "args");
}

static void end_event(struct trace *t)
{
    json_end(&t->w);
    json_end(&t->w);
    strbuf_addch(&t->text, '\n');
}

void trace_lane(struct trace *t, int lane, const char *name)
{
    begin_meta(t, "thread_name", lane);
    json_put_string(&t->w, "name", name);
    end_event(t);
    begin_meta(t, "thread_sort_index", lane);
    json_put_int(&t->w, "sort_index", lane);
    end_event(t);
}

/* Returns whole nanoseconds since zero. */
static int64_t ns(const struct trace *t, double pos)
{
    return (int64_t)floor((pos - t->zero) * 1e9);
}

struct json_writer *trace_span(struct trace *t, int lane, const char *category,
                               const char *name, double begin, double end)
{
    int64_t began = ns(t, begin);

    json_begin_object(&t->w, NULL);
    json_put_string(&t->w, "ph", "X");
    json_put_string(&t->w, "cat", category);
    json_put_string(&t->w, "name", name);
    json_put_int(&t->w, "pid", PROCESS);
    json_put_int(&t->w, "tid", lane);
    json_put_double(&t->w, "ts", (double)began / 1000);
    json_put_double(&t->w, "dur", (double)(ns(t, end) - began) / 1000);
    json_begin_object(&t->w, "args");
    return &t->w;
}

void trace_span_end(struct trace *t)
{
    end_event(t);
}

int trace_write(struct trace *t, const char *path)
{
    int rc;

    json_end(&t->w);
    json_end(&t->w);
    strbuf_addch(&t->text, '\n');
    rc = atomic_write_out(path, t->text.buf, t->text.len);
    strbuf_release(&t->text);
    return rc;
}
