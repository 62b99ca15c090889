/*
 * The blocks of an exported network, which activation checkpointing recomputes one by one
 * (graph/recompute.h): modules with a number in their name, such as "stages.0.blocks.1" or
 * "denselayer3", below which at least three modules have parameters. A node belongs to the
 * innermost block that its module is part of.
 */
#ifndef PT2_BLOCKS_H
#define PT2_BLOCKS_H

#include "pt2/program.h"

struct pt2_blocks {
    struct strmap count; /* module with a number in its name -> int, modules below it */
    struct arena mem;
};

void pt2_blocks_init(struct pt2_blocks *b, const struct pt2_program *p);
void pt2_blocks_release(struct pt2_blocks *b);

/* Returns the length of the prefix of a module's name that is its block; 0: it has none. */
size_t pt2_blocks_find(const struct pt2_blocks *b, const char *module);

#endif
