/*
 * Generated street scenes with labels, for demonstrations and tests of segmentation: a
 * road with sidewalks to a vanishing point, buildings, trees, and sky, and on them cars,
 * people, and poles with signs or lights. Labels are Cityscapes' ids; most class sets
 * ignore id 1 (the own vehicle). A scene is a pure function of its arguments.
 */
#ifndef SYNTH_SCENES_H
#define SYNTH_SCENES_H

#include <stdint.h>

enum { SYNTH_SCENE_MIN = 32, SYNTH_SCENE_MAX = 2048 }; /* width, pixels */

struct synth_scene {
    uint64_t seed;
    uint32_t split;  /* different splits have different scenes */
    uint32_t number; /* within split */
    int w, h;
};

/* Fills rgb, w * h * 3 bytes, and id, w * h label ids, row by row. */
void synth_scene_draw(const struct synth_scene *p, uint8_t *rgb, uint8_t *id);

#endif
