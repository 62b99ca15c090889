/*
 * File and folder names from foreign text, such as names of classes and images.
 *
 *   char *name = file_name_clean("../a\033[2J/b");     "_._a?[2J_b"
 */
#ifndef BASE_FILE_NAME_H
#define BASE_FILE_NAME_H

/*
 * Returns the text as a single path component (heap string) that stays in its folder.
 * Control characters become '?' (utf8_clean), '/' and a leading dot '_', an empty text
 * "_". Names over 200 bytes are truncated before their extension: file systems allow 255,
 * and a number or an extension may follow.
 */
char *file_name_clean(const char *text);

#endif
