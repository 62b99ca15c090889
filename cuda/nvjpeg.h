/*
 * nvJPEG, for DATA.DECODE device: JPEGs decoded by the GPU for the loader's threads. Only
 * what is called is declared, as nvJPEG's manual has it; the library is opened when a run
 * asks for it.
 *
 * Each thread has a state, a stream and memory of its own. What nvJPEG refuses (CMYK,
 * damage that it finds), and what the GPU has no memory for, is false: the host decodes it.
 */
#ifndef CUDA_NVJPEG_H
#define CUDA_NVJPEG_H

#include "base/jpeg_device.h"
#include "base/strbuf.h"
#include "cuda/device.h"

/* backend.jpeg. False and a reason: there is no nvJPEG, or it does not start. */
bool cuda_jpeg(struct device *dev, struct jpeg_device *to, struct strbuf *why);

/* When the device is closed, after all states. */
void cuda_jpeg_close(struct device *dev);

#endif
