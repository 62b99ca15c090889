/* trainc devices: lists the devices that this machine can train on. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "session/devices.h"

/* Prints the lines of `text`, indented below the name of the backend. */
static void print_lines(const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");

        say("%-6s %.*s\n", "", (int)len, text);
        text += len + (text[len] != 0);
    }
}

static void print_one(const struct backend *b, const struct device_options *o)
{
    struct strbuf why = STRBUF_INIT, report = STRBUF_INIT;

    if (device_available(b, 0, &why)) {
        struct device *dev = b->open(o);

        say("%-6s %s\n", b->name, b->describe(dev));
        b->close(dev);
    } else {
        say("%-6s not available: %s\n", b->name, why.buf);
    }
    print_lines(b->help);
    if (b->report)
        b->report(&report, false);
    for (int i = 0; b->described && b->described(i); i++)
        strbuf_addf(&report, "%s%s", i ? ", " : "known to summary: ", b->described(i));
    print_lines(report.buf);
    strbuf_release(&report);
    strbuf_release(&why);
}

static json_t *one_json(const struct backend *b, const struct device_options *o)
{
    struct strbuf why = STRBUF_INIT, report = STRBUF_INIT;
    bool ok = device_available(b, 0, &why);
    json_t *j =
        json_pack("{ss,sb,ss}", "name", b->name, "available", ok, "help", b->help);

    if (ok) {
        struct device *dev = b->open(o);

        (void)json_object_set_new(j, "device", json_string(b->describe(dev)));
        b->close(dev);
    } else {
        (void)json_object_set_new(j, "why", json_string(why.buf));
    }
    if (b->report) {
        b->report(&report, true);
        (void)json_object_update_new(j, json_loads(report.buf, 0, NULL));
    }
    strbuf_release(&report);
    strbuf_release(&why);
    return j;
}

static void print_json(const struct device_options *o)
{
    json_t *all = json_array();
    char *text;

    for (int i = 0; device_at(i); i++)
        (void)json_array_append_new(all, one_json(device_at(i), o));
    all = json_pack("{so}", "devices", all);
    text = json_dumps(all, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    say_text(text);
    say_text("\n");
    free(text);
    json_decref(all);
}

static int devices_run(struct config *cfg, const struct cmdline *line)
{
    struct device_options o = {.threads = (int)cfg->threads};

    if (cmdline_has(line, "--json"))
        print_json(&o);
    for (int i = 0; device_at(i) && !cmdline_has(line, "--json"); i++)
        print_one(device_at(i), &o);
    return 0;
}

static const struct cmd_flag devices_flags[] = {
    {"--json", NULL, "print JSON; trainc summary --device reads it"},
    {0},
};

static const char *const devices_reads[] = {"THREADS", NULL};

const struct verb cmd_devices = {
    .name = "devices",
    .examples = (const char *const[]){"trainc devices", "trainc devices --json", NULL},
    .help = "list the devices that this build can train on",
    .about =
        "DEVICE auto selects the first available device. For CUDA, also prints each GPU "
        "and the versions and paths of the driver and the libraries. `trainc devices "
        "--json >gpu.json` describes a GPU, so that `trainc summary --device gpu.json` "
        "works on another machine.",
    .flags = devices_flags,
    .reads = devices_reads,
    .run = devices_run,
};
