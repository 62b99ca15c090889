/* trainc launch: several processes that train one model, started by Open MPI's mpirun. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/launch_hosts.h"
#include "cmd/run.h"

static volatile sig_atomic_t child, asked;

/* mpirun hands SIGUSR1 on and waits; of others it kills what is still there soon
 * after. */
static void hand_on(int sig)
{
    if (!asked)
        asked = sig;
    if (child > 0)
        (void)kill((pid_t)child, SIGUSR1);
}

struct command {
    const char **word;
    int n, cap;
};

static void add(struct command *c, const char *word)
{
    GROW(c->word, c->n, c->cap);
    c->word[c->n++] = word;
}

/* Our flags come first; what follows them, or --, is the command of each process. */
struct launch {
    const char *n, *hosts;
    bool oversubscribe;
    int64_t restarts;
    int rest; /* of argv: where the command begins */
};

static struct launch parse(int argc, char **argv)
{
    struct launch l = {0};
    const char *v;
    int i = 0;

    for (; i < argc; i++) {
        if (!strcmp(argv[i], "--oversubscribe"))
            l.oversubscribe = true;
        else if ((v = run_own_value("-n", argc, argv, &i)))
            l.n = v;
        else if ((v = run_own_value("--hosts", argc, argv, &i)))
            l.hosts = v;
        else if ((v = run_own_value("--restarts", argc, argv, &i)))
            l.restarts = run_number("--restarts", v, 0, 1 << 20);
        else
            break;
    }
    l.rest = i < argc && !strcmp(argv[i], "--") ? i + 1 : i;
    if (!l.n)
        usage("launch needs -n N, the number of processes, in front of the command");
    (void)run_number("-n", l.n, 1, 1 << 20);
    if (l.rest == argc)
        usage("nothing to launch: trainc launch -n 2 -- train --cfg FILE");
    return l;
}

/* By its own path, which mpirun looks for on all hosts. */
static struct command command_of(const struct launch *l, int argc, char **argv)
{
    static char self[4096];
    struct command c = {0};

    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        die("cannot read /proc/self/exe: %s", strerror(errno));
    add(&c, "mpirun");
    add(&c, "-n");
    add(&c, l->n);
    if (l->hosts) {
        add(&c, "--host");
        add(&c, l->hosts);
    }
    if (l->oversubscribe)
        add(&c, "--oversubscribe");
    add(&c, self);
    for (int i = l->rest; i < argc; i++)
        add(&c, argv[i]);
    add(&c, NULL);
    return c;
}

static _Noreturn void become(const struct command *c)
{
    if (!geteuid()) { /* in a container; mpirun asks for both */
        (void)setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
        (void)setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    }
    (void)execvp(c->word[0], (char *const *)(uintptr_t)c->word);
    die("cannot start mpirun, which Debian's openmpi-bin has: %s", strerror(errno));
}

/* How many of mpirun's children are processes of the run: trainc, as this one. */
static int ranks_here(pid_t mpirun)
{
    char path[64], here[4096] = "", text[4096] = "";
    int n = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)mpirun,
                   (int)mpirun);
    f = fopen(path, "r");
    if (f) {
        (void)!fread(text, 1, sizeof(text) - 1, f);
        (void)fclose(f);
    }
    (void)!readlink("/proc/self/exe", here, sizeof(here) - 1);
    for (char *at = text, *end; *at; at = end) {
        long pid = strtol(at, &end, 10);
        char exe[4096] = "";

        if (end == at)
            break;
        (void)snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
        n += readlink(path, exe, sizeof(exe) - 1) > 0 && !strcmp(exe, here);
    }
    return n;
}

/*
 * Ended, 0: not yet. An mpirun whose processes here have ended waits for machines that
 * may be gone, for ever: it gets some seconds.
 */
static pid_t wait_for(pid_t pid, int *status)
{
    enum { PATIENCE = 5 };
    double alone_since = 0;
    bool seen = false;
    pid_t ended;

    while (!(ended = waitpid(pid, status, WNOHANG)) || (ended < 0 && errno == EINTR)) {
        bool any = ranks_here(pid) > 0;

        seen |= any;
        if (any || !seen)
            alone_since = 0;
        else if (!(alone_since > 0))
            alone_since = clock_now();
        else if (clock_now() - alone_since > PATIENCE) {
            log_warning("the processes here have ended, and mpirun waits for others: it "
                        "is killed");
            (void)kill(pid, SIGKILL);
        }
        (void)usleep(100000);
    }
    return ended;
}

/* The exit code, as a shell has it. */
static int run_once(const struct command *c)
{
    int status = 0;
    pid_t pid = fork();

    if (pid < 0)
        die("cannot start another process: %s", strerror(errno));
    if (!pid)
        become(c);
    child = pid;
    (void)wait_for(pid, &status);
    child = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* After a failure: without the machines that are gone, and with fewer processes if the
 * others have too few slots. */
static void look_for_hosts(struct launch *l)
{
    static char number[16];
    struct strbuf alive = STRBUF_INIT;
    int slots;

    if (!l->hosts)
        return;
    slots = hosts_alive(l->hosts, &alive);
    if (!slots)
        die("none of the machines %s answers", l->hosts);
    if (slots < strtol(l->n, NULL, 10)) {
        (void)snprintf(number, sizeof(number), "%d", slots);
        l->n = number;
    }
    l->hosts = strbuf_detach(&alive);
}

static int launch_main(int argc, char **argv)
{
    struct sigaction a = {.sa_handler = hand_on};
    struct launch l = parse(argc, argv);
    struct command c = command_of(&l, argc, argv);
    int code;

    (void)sigaction(SIGTERM, &a, NULL);
    (void)sigaction(SIGINT, &a, NULL);
    (void)sigaction(SIGHUP, &a, NULL);
    (void)sigaction(SIGUSR1, &a, NULL);
    while ((code = run_once(&c)) && code != EXIT_USAGE && !asked && l.restarts-- > 0) {
        log_warning("the processes ended with the exit code %d; started again from their "
                    "newest checkpoint (%lld more times)",
                    code, (long long)l.restarts);
        look_for_hosts(&l);
        free(c.word);
        c = command_of(&l, argc, argv);
    }
    free(c.word);
    return asked && code == 128 + SIGUSR1 ? 128 + asked : code;
}

static const struct cmd_flag launch_flags[] = {
    {"-n", "N", "processes, each with batches of DATA.BATCH_SIZE images"},
    {"--hosts", "LIST", "machines and their slots: a:2,b:2 (mpirun's --host)"},
    {"--oversubscribe", NULL, "more processes than cores"},
    {"--restarts", "K",
     "start again up to K times if the processes fail, not if the command is wrong (0); "
     "without the machines that do not answer any more"},
    {0},
};

static const char *const launch_reads[] = {NULL};

const struct verb cmd_launch = {
    .name = "launch",
    .help = "train one model in several processes, by mpirun",
    .about =
        "trainc launch -n 2 -- train --cfg FILE ... starts what follows -- in N "
        "processes that find each other by Open MPI, whose mpirun has to be installed. A "
        "signal that asks to save and leave goes to all of them. As the user root it allows "
        "mpirun to run, as in containers.",
    .args = "[--] VERB ...",
    .flags = launch_flags,
    .reads = launch_reads,
    .main = launch_main,
};
