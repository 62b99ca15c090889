/* trainc devices: what this machine can train on. */
#include <stdio.h>

#include "cmd/cmd.h"
#include "train/devices.h"

static int devices_run(struct config *cfg, const struct cmdline *line)
{
    struct device_options o = {.threads = (int)cfg->threads};

    (void)line;
    for (int i = 0; device_table[i]; i++) {
        const struct backend *b = device_table[i];
        struct device *dev = b->open(&o);

        printf("%-6s %s\n%-6s %s\n", b->name, b->describe(dev), "", b->help);
        b->close(dev);
    }
    return 0;
}

const struct verb cmd_devices = {
    .name = "devices",
    .help = "list the devices that this build can train on",
    .about = "The first of the list is what DEVICE auto takes.",
    .run = devices_run,
};
