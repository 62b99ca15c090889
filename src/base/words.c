#include "base/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

static const char blanks[] = " \t\r\n";

/* Reads the quoted text at *s; returns NULL if the quotes are not closed. */
static const char *quoted(const char *s, struct strbuf *word)
{
    char quote = *s++;

    for (; *s && *s != quote; s++) {
        if (quote == '"' && *s == '\\' && s[1] && strchr("\"\\$`", s[1]))
            s++;
        strbuf_addch(word, *s);
    }
    return *s ? s + 1 : NULL;
}

/* Reads one word into `word`; returns the text after it, or NULL. */
static const char *next(const char *s, struct strbuf *word)
{
    while (s && *s && !strchr(blanks, *s))
        if (*s == '\'' || *s == '"') {
            s = quoted(s, word);
        } else {
            s += *s == '\\' && s[1];
            strbuf_addch(word, *s++);
        }
    return s;
}

char **words_split(const char *text)
{
    char **words = NULL;
    int n = 0, cap = 0;

    for (const char *s = text;;) {
        struct strbuf word = STRBUF_INIT;

        s += strspn(s, blanks);
        GROW(words, n, cap);
        words[n] = NULL;
        if (!*s)
            return words;
        strbuf_addstr(&word, "");
        s = next(s, &word);
        words[n++] = strbuf_detach(&word);
        if (s)
            continue;
        GROW(words, n, cap);
        words[n] = NULL;
        words_free(words);
        return NULL;
    }
}

void words_free(char **words)
{
    for (char **w = words; w && *w; w++)
        free(*w);
    free(words);
}
