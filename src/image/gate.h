/*
 * Limits the memory of decoding over all threads of the process, planned before the first
 * image:
 *
 *   share   a quarter of the memory divided by the threads: an image may take this
 *          immediately, its file included
 *   lane    a larger image waits until it is the only one of its kind
 *   most    half of the memory: larger images are refused
 *
 * Decoding therefore takes at most share x threads + most, instead of threads x the
 * largest image that a header can claim. Without a plan there is no limit.
 */
#ifndef IMAGE_GATE_H
#define IMAGE_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Announces `threads` more (or fewer) decoding threads; memory in bytes, SIZE_MAX:
 * unknown. */
void image_gate_plan(int threads, size_t memory);

/*
 * Call before allocating `bytes`; may wait. A thread in the lane stays there until it
 * leaves. Returns -1 with a reason if `bytes` exceeds the limit.
 */
int image_gate_enter(size_t bytes, struct strbuf *why);

/* True if this thread is in the lane: it should free its buffers before it leaves. */
bool image_gate_inside(void);
void image_gate_leave(void);

#endif
