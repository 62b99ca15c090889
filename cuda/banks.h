/*
 * Where the logits of pixels lie in shared memory. It has 32 banks, one float wide each;
 * two addresses of one bank are served one after the other. A warp reads one float per
 * lane at once, or 16 bytes of eight lanes at a time (float4).
 *
 * Up to PIXEL_CLASSES a lane has a pixel, beyond them four lanes next to each other share
 * one and read one float, or float4, each. pixel_gap() floats after each pixel's classes
 * make all addresses of such a read lie in different banks.
 */
#ifndef CUDA_BANKS_H
#define CUDA_BANKS_H

enum { PIXEL_CLASSES = 64 };

static inline int pixel_gap(int classes)
{
    int floats = classes % 4 ? 1 : 4; /* of a lane at once */

    if (classes > PIXEL_CLASSES) /* pixels 4 banks apart modulo 8, or 16 modulo 32 */
        return floats == 1 ? (12 - classes % 8) % 8 : (48 - classes % 32) % 32;
    if (floats == 4) /* an odd number of float4 */
        return classes % 8 ? 0 : 4;
    return classes % 2 ? 0 : 1;
}

#endif
