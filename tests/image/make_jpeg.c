#include "tests/image/make_jpeg.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include "base/alloc.h"

/* Smooth parts, hard edges, and a little noise. */
static uint8_t make_sample(const struct make_jpeg *m, int x, int y, int c)
{
    int v = (x * (3 + c) + y * (5 - c) + m->seed * 37) / 2;

    if ((x / 9 + y / 7) % 3 == 0)
        v = 255 - v + c * 30;
    return (uint8_t)(v + (x * 13 + y * 29 + c * 5) % 7);
}

static void make_setup(struct jpeg_compress_struct *c, const struct make_jpeg *m)
{
    c->image_width = (JDIMENSION)m->w;
    c->image_height = (JDIMENSION)m->h;
    c->input_components = m->cmyk ? 4 : 3;
    c->in_color_space = m->cmyk ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(c);
    if (m->cmyk == 2)
        jpeg_set_colorspace(c, JCS_YCCK);
    jpeg_set_quality(c, m->quality ? m->quality : 90, TRUE);
    if (m->cmyk != 1) {
        c->comp_info[0].h_samp_factor = m->h_factor ? m->h_factor : 2;
        c->comp_info[0].v_samp_factor = m->v_factor ? m->v_factor : 2;
    }
    if (m->cmyk == 2) { /* black is not subsampled */
        c->comp_info[3].h_samp_factor = c->comp_info[0].h_samp_factor;
        c->comp_info[3].v_samp_factor = c->comp_info[0].v_samp_factor;
    }
    c->arith_code = m->arithmetic;
    if (m->progressive)
        jpeg_simple_progression(c);
}

uint8_t *make_jpeg(const struct make_jpeg *m, size_t *len)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr error;
    unsigned char *out = NULL;
    unsigned long size = 0;
    int n = m->cmyk ? 4 : 3;
    uint8_t *row = xmalloc((size_t)(m->w * n));

    c.err = jpeg_std_error(&error);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out, &size);
    make_setup(&c, m);
    jpeg_start_compress(&c, TRUE);
    for (int y = 0; y < m->h; y++) {
        JSAMPROW rows[1] = {row};

        for (int x = 0; x < m->w; x++)
            for (int k = 0; k < n; k++)
                row[x * n + k] = make_sample(m, x, y, k);
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    *len = size;
    return out;
}
