/*
 * Prints pages of the documentation from the tables of the program:
 *
 *   trainc help --markdown keys     docs/configuration.md
 *   trainc help --markdown flags    the table of docs/from-pytorch.md
 *   trainc help --markdown layers   the table of docs/any-network.md
 */
#include <string.h>

#include "base/error.h"
#include "base/say.h"
#include "cmd/help.h"
#include "config/dump.h"
#include "config/foreign.h"
#include "layers/op.h"

/* Appends the text of a table cell; escapes | everywhere, and < and * outside code. */
static void add_cell(struct strbuf *s, const char *text)
{
    bool code = false;

    for (; *text; text++) {
        code ^= *text == '`';
        if (*text == '|')
            strbuf_addstr(s, "\\|");
        else if (*text == '<' && !code)
            strbuf_addstr(s, "&lt;");
        else if (*text == '*' && !code)
            strbuf_addstr(s, "\\*");
        else
            strbuf_addch(s, *text);
    }
}

static void add_code(struct strbuf *s, const char *text)
{
    struct strbuf code = STRBUF_INIT;

    strbuf_addf(&code, "`%s`", text);
    add_cell(s, code.buf);
    strbuf_release(&code);
}

/* Appends the type and the range: "one of a, b", "int, at least 1". */
static void add_type(struct strbuf *s, const struct schema *row)
{
    struct strbuf type = STRBUF_INIT;

    names_add_type(&type, row, cmd_key_names);
    if (row->min < row->max) {
        strbuf_addstr(&type, schema_is_open(row) ? " " : " in ");
        schema_add_range(&type, row);
    }
    add_cell(s, type.buf);
    strbuf_release(&type);
}

/* Appends a key of the items of a list. */
static void add_item_key(struct strbuf *s, const struct schema *list,
                         const struct schema *row)
{
    strbuf_addf(s, "| `%s[].%s` | ", list->key, row->key);
    if (row->required)
        strbuf_addstr(s, "required");
    else
        add_code(s, row->def && *row->def ? row->def : "''");
    strbuf_addstr(s, " | | ");
    add_cell(s, row->help);
    strbuf_addstr(s, " (");
    add_type(s, row);
    strbuf_addstr(s, ") |\n");
}

static void add_key(struct strbuf *s, const struct schema *row)
{
    struct strbuf value = STRBUF_INIT;

    value_add_yaml(&value, config_default(row->key));
    strbuf_addstr(s, "| ");
    add_code(s, row->key);
    strbuf_addstr(s, " | ");
    add_code(s, value.len ? value.buf : "''");
    strbuf_addstr(s, " | ");
    if (row->flag)
        add_code(s, row->flag);
    strbuf_addstr(s, " | ");
    add_cell(s, row->help);
    strbuf_addf(s, "%s (", schema_use(row));
    add_type(s, row);
    strbuf_addstr(s, ") |\n");
    strbuf_release(&value);
    for (const struct schema *r = row->record; r && r->key; r++)
        add_item_key(s, row, r);
}

/* Returns the length of "TRAIN" in TRAIN.EMA.DECAY; 0 if the key has no dot. */
static size_t section_length(const char *key)
{
    const char *dot = strchr(key, '.');

    return dot ? (size_t)(dot - key) : 0;
}

static void add_section(struct strbuf *s, const char *name, size_t len)
{
    strbuf_addf(s, "\n## %.*s\n\n| key | default | flag | meaning |\n|---|---|---|---|\n",
                len ? (int)len : 3, len ? name : "Run");
    for (const struct schema *row = schema_table; row->key; row++)
        if (section_length(row->key) == len && !strncmp(row->key, name, len))
            add_key(s, row);
}

/* True if a row before this one has the same section. */
static bool section_seen(const struct schema *row)
{
    size_t len = section_length(row->key);

    for (const struct schema *r = schema_table; r != row; r++)
        if (section_length(r->key) == len && !strncmp(r->key, row->key, len))
            return true;
    return false;
}

static void add_keys(struct strbuf *s)
{
    strbuf_addstr(
        s, "# Configuration\n\n"
           "All keys and their defaults. `trainc help KEY` explains one key. "
           "`trainc config --cfg FILE` prints the values of a\n"
           "run and their origins.\n\n"
           "Set a key in a YAML file (`--cfg FILE`), with its flag, or with `--opts KEY "
           "VALUE`; the last one wins. A file can\n"
           "include other files with `BASE` and overrides their values.\n\n"
           "```yaml\n"
           "BASE: ['resnet50.yaml']\n"
           "DATA:\n"
           "  BATCH_SIZE: 64\n"
           "TRAIN:\n"
           "  OPTIMIZER:\n"
           "    NAME: adamw\n"
           "```\n\n"
           "Without a file, many values depend on the data and the model instead of this "
           "table:\n"
           "[fine-tuning.md](fine-tuning.md).\n\n"
           "`trainc help --markdown keys` writes this page.\n");
    for (const struct schema *row = schema_table; row->key; row++)
        if (!section_seen(row))
            add_section(s, row->key, section_length(row->key));
}

static void add_flags(struct strbuf *s)
{
    struct foreign f;

    strbuf_addstr(s, "| elsewhere | trainc |\n|---|---|\n");
    for (int i = 0; foreign_get(i, &f); i++) {
        strbuf_addstr(s, "| ");
        add_code(s, f.names);
        strbuf_addstr(s, " | ");
        add_cell(s, f.here);
        strbuf_addstr(s, " |\n");
    }
}

static void add_layer_arg(struct strbuf *s, const struct layer_arg *a, bool first)
{
    strbuf_addf(s, "%s`%s%s%s`", first ? "" : ", ", a->name, a->def ? ": " : "",
                a->def ? a->def : "");
    if (a->optional)
        strbuf_addstr(s, " (optional)");
}

static void add_layers(struct strbuf *s)
{
    struct layer_op op;

    strbuf_addstr(s, "| op | PyTorch | arguments and their defaults | what it does |\n"
                     "|---|---|---|---|\n");
    for (int i = 0; (op = layer_op_at(i)).name; i++) {
        strbuf_addf(s, "| `%s` | %s", op.name, op.torch == op.name ? "F." : "");
        add_cell(s, op.torch);
        strbuf_addstr(s, " | ");
        for (const struct layer_arg *a = op.args; a && a->name; a++)
            add_layer_arg(s, a, a == op.args);
        strbuf_addstr(s, " | ");
        add_cell(s, op.help);
        strbuf_addstr(s, " |\n");
    }
}

void markdown_print(const char *page)
{
    struct strbuf s = STRBUF_INIT;

    if (!strcmp(page, "keys"))
        add_keys(&s);
    else if (!strcmp(page, "flags"))
        add_flags(&s);
    else if (!strcmp(page, "layers"))
        add_layers(&s);
    else
        usage("--markdown: unknown page '%s'; choose keys, flags, or layers", page);
    say_text(s.buf);
    strbuf_release(&s);
}
