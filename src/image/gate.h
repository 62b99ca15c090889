/*
 * Memory of decoding, bounded over all threads of the process and planned before the
 * first image:
 *
 *   share   a quarter of the memory over all threads: what one image may take of it
 *           without asking, its file included
 *   lane    an image that takes more waits until it is the only such one
 *   most    half of the memory: an image that takes more is refused, as too large
 *
 * So decoding takes share x threads + most at the very most, instead of threads x the
 * largest image that a header can promise. Without a plan nothing is bounded.
 */
#ifndef IMAGE_GATE_H
#define IMAGE_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* `threads` more (or fewer) threads decode; memory in bytes, SIZE_MAX: not known. */
void image_gate_plan(int threads, size_t memory);

/*
 * Before memory of this size is taken: waits if it must. A thread that is in the lane
 * stays there until it leaves. -1 with a reason: more than `most`.
 */
int image_gate_enter(size_t bytes, struct strbuf *why);

/* True if this thread was in the lane: its buffers should go before it calls leave. */
bool image_gate_inside(void);
void image_gate_leave(void);

#endif
