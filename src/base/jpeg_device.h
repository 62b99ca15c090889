/*
 * A device that decodes JPEGs: the interface between the backend of a device
 * (graph/backend.h) and readers of images (image/image.h).
 */
#ifndef BASE_JPEG_DEVICE_H
#define BASE_JPEG_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jpeg_device {
    void *device;
    /* Opens a decoder for one thread. Returns NULL on failure. */
    void *(*open)(void *device);
    void (*close)(void *state);
    /* Decodes a whole image of w x h pixels to interleaved RGB in host memory; returns
     * false if it cannot decode this image. */
    bool (*read)(void *state, const void *data, size_t len, int w, int h, uint8_t *rgb);
};

#endif
