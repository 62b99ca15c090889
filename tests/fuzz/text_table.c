/* Tables of text: CSV, TSV, and JSON lines, by the first byte. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/text_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const endings[] = {".csv", ".tsv", ".jsonl"};
    struct strbuf why = STRBUF_INIT;
    struct text_table t;
    size_t bytes = 0;
    char *path;

    if (size < 1)
        return 0;
    path = fuzz_train(endings[data[0] % 3], data + 1, size - 1);
    if (text_table_read(&t, path, &why)) {
        fuzz_expect(t.rows > 0 && t.columns > 0, "a table has rows and columns");
        for (int64_t i = 0; i < t.rows; i++)
            for (int c = 0; c < t.columns; c++)
                bytes += strlen(text_table_cell(&t, i, c));
        for (int c = 0; c < t.columns; c++)
            fuzz_expect(text_table_column(&t, t.header[c]) <= c, "a column is found");
        fuzz_expect(data[0] % 3 == 2 || bytes < size, "cells are parts of the text");
        text_table_release(&t);
    } else {
        fuzz_expect(why.len > 0, "a refusal has a reason");
    }
    strbuf_release(&why);
    (void)remove(path);
    free(path);
    return 0;
}
