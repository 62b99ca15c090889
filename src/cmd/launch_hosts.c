#include "cmd/launch_hosts.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/process.h"
#include "base/words.h"

enum { PATIENCE = 10 };

static bool is_here(const char *host)
{
    char name[256] = "";

    (void)gethostname(name, sizeof(name) - 1);
    return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, name);
}

/* True if `AGENT HOST true` succeeds. */
static bool responds(const char *host)
{
    const char *agent = getenv("OMPI_MCA_plm_rsh_agent");
    char *line = xasprintf("%s %s true",
                           agent && *agent && strcmp(agent, "ssh") != 0
                               ? agent
                               : "ssh -x -o BatchMode=yes -o ConnectTimeout=5",
                           host);
    char **words = words_split(line);
    struct process p = {.words = (const char *const *)words, .death = SIGKILL};
    struct strbuf why = STRBUF_INIT;
    int status = 1;
    pid_t pid = words && *words ? process_start(&p, &why) : 0;

    if (pid && !process_wait(pid, PATIENCE, &status))
        process_end(pid, 0);
    strbuf_release(&why);
    words_free(words);
    free(line);
    return pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

bool hosts_all_here(const char *hosts)
{
    bool all = true;

    for (size_t len; *hosts && all; hosts += len + (hosts[len] == ',')) {
        char *item;

        len = strcspn(hosts, ",");
        item = xstrndup(hosts, strcspn(hosts, ",:"));
        all = !*item || is_here(item);
        free(item);
    }
    return all;
}

int hosts_alive(const char *hosts, struct strbuf *alive)
{
    int slots = 0;

    for (size_t len; *hosts; hosts += len + (hosts[len] == ',')) {
        char *item, *colon;

        len = strcspn(hosts, ",");
        item = xstrndup(hosts, len);
        colon = strchr(item, ':');
        if (colon)
            *colon = '\0';
        if (*item && (is_here(item) || responds(item))) {
            slots += colon ? (int)strtol(colon + 1, NULL, 10) : 1;
            strbuf_addf(alive, "%s%.*s", alive->len ? "," : "", (int)len, hosts);
        } else if (*item) {
            log_warning("host '%s' does not respond; continuing without it", item);
        }
        free(item);
    }
    return slots;
}
