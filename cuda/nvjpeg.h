/*
 * nvJPEG, for DATA.DECODE device: the GPU decodes JPEGs for the loader's threads. Only
 * the functions used are declared, as in nvJPEG's manual; the library is opened when a
 * run needs it.
 *
 * Each thread has its own state, stream, and memory. Returns false for images that nvJPEG
 * refuses (CMYK, detected damage), or if the GPU is out of memory: the host then decodes
 * them.
 */
#ifndef CUDA_NVJPEG_H
#define CUDA_NVJPEG_H

#include "base/jpeg_device.h"
#include "base/strbuf.h"
#include "cuda/device.h"

/* Implements backend.jpeg. Returns false with a reason if nvJPEG is missing or does not
 * start. */
bool cuda_jpeg(struct device *dev, struct jpeg_device *dst, struct strbuf *why);

/* Called when the device is closed, after all states. */
void cuda_jpeg_close(struct device *dev);

#endif
