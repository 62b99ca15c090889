/* The functions of the backend's table, one file each; only for backend.c. */
#ifndef CUDA_PARTS_H
#define CUDA_PARTS_H

#include "cuda/device.h"

/* find.c */
bool cuda_available(int index, struct strbuf *why);

/* report.c */
void cuda_report(struct strbuf *s, bool json);

/* memory.c */
void *cuda_alloc(struct device *dev, size_t size);
void cuda_free(struct device *dev, void *p);
void cuda_free_all(struct device *dev);
size_t cuda_peak_memory(struct device *dev);
bool cuda_memory(struct device *dev, struct device_memory *m);

/* limits.c */
bool cuda_limits(const struct device *dev, struct device_limits *l);

/* async.c */
extern const struct backend_async cuda_async;
void cuda_copy_in(struct device *dev, void *dst, const void *host, size_t size);
void cuda_copy_out(struct device *dev, void *host, const void *src, size_t size);
void cuda_sync(struct device *dev);
struct device_waits cuda_waits(struct device *dev);

/* capture.c */
bool cuda_capture_begin(struct device *dev);
void *cuda_capture_end(struct device *dev);
void cuda_replay(struct device *dev, void *captured);
void cuda_capture_free(struct device *dev, void *captured);
void cuda_mark(struct device *dev, const struct step *s, int number);
void cuda_range(struct device *dev, const char *name);

#endif
