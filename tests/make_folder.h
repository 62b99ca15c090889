/* Folders of pictures for tests, below a temporary directory. */
#ifndef TESTS_MAKE_FOLDER_H
#define TESTS_MAKE_FOLDER_H

#include <stddef.h>
#include <stdint.h>

char *make_temp_dir(void);       /* heap string */
void remove_temp_dir(char *dir); /* and everything in it; frees the string */

/* A file at dir/path, with its directories. */
void make_file(const char *dir, const char *path, const void *data, size_t len);

/* A JPEG of w x h at dir/path, another one for each seed. */
void make_picture(const char *dir, const char *path, int w, int h, int seed);

/* A label picture of w x h values at dir/path. */
void make_label(const char *dir, const char *path, int w, int h, const uint8_t *value);

#endif
