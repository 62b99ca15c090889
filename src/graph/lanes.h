/*
 * Asynchronous work. A device has two lanes that run concurrently, each in order: run()
 * and program_run() use LANE_RUN. Events synchronize them: `wait` blocks a lane, `await`
 * the host. Memory of host_alloc() is pinned and copied asynchronously, so it must stay
 * unchanged until an event after the copy has completed.
 */
#ifndef GRAPH_LANES_H
#define GRAPH_LANES_H

#include <stdbool.h>
#include <stddef.h>

struct device;

enum lane { LANE_RUN, LANE_COPY };

struct backend_async {
    void *(*host_alloc)(struct device *dev, size_t size); /* zeroed, 64-byte aligned */
    void (*host_free)(struct device *dev, void *p);
    void *(*event_new)(struct device *dev);
    void (*event_free)(struct device *dev, void *event);
    /* Seconds between two completed events. */
    double (*seconds)(struct device *dev, void *start, void *stop);
    void (*record)(struct device *dev, enum lane lane, void *event);
    void (*wait)(struct device *dev, enum lane lane, void *event);
    bool (*done)(struct device *dev, void *event); /* true if never recorded */
    void (*await)(struct device *dev, void *event);
    void (*copy_in)(struct device *dev, enum lane lane, void *dst, const void *host,
                    size_t size);
    void (*copy_out)(struct device *dev, enum lane lane, void *host, const void *src,
                     size_t size);
    void (*copy)(struct device *dev, enum lane lane, void *dst, const void *src,
                 size_t size); /* within the device */
};

#endif
