/*
 * A timeline in the JSON that chrome://tracing and Perfetto (ui.perfetto.dev) open:
 * Google's "Trace Event Format", complete events in lanes.
 *
 *   struct trace t;
 *   trace_init(&t, clock_now());            zero of the time axis
 *   trace_lane(&t, 1, "training");
 *   json_put_int(trace_span(&t, 1, "update", "update 3", from, to), "images", 128);
 *   trace_span_end(&t);
 *   if (trace_write(&t, "trace.json"))      -1 with errno
 *      ...
 *
 * Spans of a lane are nested or disjoint; a viewer draws nested ones below. Times are
 * seconds of clock_now() and are rounded to nanoseconds, all in the same direction, so
 * that nested spans stay nested.
 */
#ifndef IO_TRACE_H
#define IO_TRACE_H

#include "io/json.h"

struct trace {
    struct strbuf text;
    struct json_writer w;
    double zero;
};

void trace_init(struct trace *t, double zero);
/* Lanes are sorted by number, from 1. */
void trace_lane(struct trace *t, int lane, const char *name);
/* Values written before trace_span_end are shown with the span. */
struct json_writer *trace_span(struct trace *t, int lane, const char *category,
                               const char *name, double begin, double end);
void trace_span_end(struct trace *t);
/* Completes, writes, and frees the trace; "-" is standard output. */
int trace_write(struct trace *t, const char *path);

#endif
