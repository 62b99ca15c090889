/*
 * The layout of pixels' logits in shared memory, which has 32 banks, one float wide each;
 * two addresses in one bank are accessed one after the other. A warp reads one float per
 * lane at once, or 16 bytes of eight lanes at a time (float4).
 *
 * Up to PIXEL_CLASSES classes, each lane has a pixel; with more, four adjacent lanes
 * share one and read one float, or float4, each. A gap of pixel_gap() floats after each
 * pixel's classes places all addresses of such a read in different banks.
 */
#ifndef CUDA_BANKS_H
#define CUDA_BANKS_H

enum { PIXEL_CLASSES = 64 };

static inline int pixel_gap(int classes)
{
    int floats = classes % 4 ? 1 : 4; /* per lane at once */

    if (classes > PIXEL_CLASSES) /* pixels 4 banks apart modulo 8, or 16 modulo 32 */
        return floats == 1 ? (12 - classes % 8) % 8 : (48 - classes % 32) % 32;
    if (floats == 4) /* an odd number of float4 */
        return classes % 8 ? 0 : 4;
    return classes % 2 ? 0 : 1;
}

#endif
