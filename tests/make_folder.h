/* Folders of images for tests, below a temporary directory. */
#ifndef TESTS_MAKE_FOLDER_H
#define TESTS_MAKE_FOLDER_H

#include <stddef.h>
#include <stdint.h>

char *make_temp_dir(void);       /* heap string */
void remove_temp_dir(char *dir); /* and everything in it; frees the string */

/* A file at dir/path, with its directories. */
void make_file(const char *dir, const char *path, const void *data, size_t len);

void remove_file(const char *dir, const char *path);

/* The last change of dir/path, a file or a folder, was so many seconds ago, always at the
 * same fraction of a second. */
void make_old(const char *dir, const char *path, int seconds);

/* A JPEG of w x h at dir/path, another one for each seed. */
void make_image(const char *dir, const char *path, int w, int h, int seed);

/* A label map of w x h values at dir/path. */
void make_label(const char *dir, const char *path, int w, int h, const uint8_t *value);

#endif
