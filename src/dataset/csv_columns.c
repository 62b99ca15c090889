#include "dataset/csv_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void csv_columns_add(struct csv_columns *c, int column)
{
    for (int i = 0; i < c->n; i++)
        if (c->column[i] == column)
            return;
    c->column[c->n++] = column;
}

bool csv_columns_add_named(struct csv_columns *c, const char *named, struct strbuf *why)
{
    char *list = xstrdup(named), *rest = list, *name;

    while ((name = strsep(&rest, ","))) {
        char *end;
        int column;

        name += strspn(name, " ");
        for (end = name + strlen(name); end > name && end[-1] == ' ';)
            *--end = '\0';
        column = text_table_column(c->table, name);
        if (column < 0) {
            strbuf_addf(why, "'%s' has no column '%.100s' (DATA.LABEL_COLUMN)", c->path,
                        name);
            break;
        }
        csv_columns_add(c, column);
    }
    free(list);
    return !name;
}
