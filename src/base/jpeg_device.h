/*
 * A device that decodes JPEGs, as the backend of a device offers it (graph/backend.h) and
 * readers of images use it (image/image.h), which know nothing of each other.
 */
#ifndef BASE_JPEG_DEVICE_H
#define BASE_JPEG_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jpeg_device {
    void *device;
    /* For one thread, which alone uses and closes it. NULL: it cannot. */
    void *(*open)(void *device);
    void (*close)(void *state);
    /* A whole image of w x h pixels to interleaved RGB in host memory; false: this one it
     * cannot decode. */
    bool (*read)(void *state, const void *data, size_t len, int w, int h, uint8_t *rgb);
};

#endif
