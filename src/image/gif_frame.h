/* What stb.c has to see to itself in a GIF: its first frame. Private to src/image. */
#ifndef IMAGE_GIF_FRAME_H
#define IMAGE_GIF_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "image/image.h"

/*
 * -1 and a reason: the frame is cut off, of which stb_image paints what is missing in the
 * background's colour. What comes after the first frame is not read.
 */
int gif_frame_check(const uint8_t *d, size_t len, struct strbuf *why);

/* The first frame of a GIF that was checked; there may be none. */
struct gif_frame {
    const uint8_t *at;      /* its descriptor */
    const uint8_t *palette; /* of `colours` */
    int colours;            /* 0: none */
    size_t transparent; /* where the flag is that a colour is transparent; 0: none is */
};

struct gif_frame gif_frame_find(const uint8_t *d, size_t len);

/*
 * What the frame does not cover has the colour `index`, the transparent one or the first,
 * as in Pillow; stb_image takes the background's, with red and blue exchanged.
 */
void gif_frame_fill(const struct gif_frame *f, int index, struct image *img);

#endif
