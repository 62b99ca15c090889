/* trainc launch: trains one model in several processes, started by Open MPI's mpirun. */
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
#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "cmd/launch_hosts.h"
#include "cmd/launch_ports.h"
#include "cmd/run.h"
#include "dist/launch.h"

static volatile sig_atomic_t child, stop_signal;

/* mpirun forwards SIGUSR1 and waits; after other signals it soon kills its children. */
static void forward_signal(int sig)
{
    if (!stop_signal)
        stop_signal = sig;
    if (child > 0)
        (void)kill((pid_t)child, SIGUSR1);
}

struct command_line {
    const char **word;
    int n, cap;
};

static void add_word(struct command_line *c, const char *word)
{
    GROW(c->word, c->n, c->cap);
    c->word[c->n++] = word;
}

/* Parsed arguments: our flags come first, then (after an optional --) the command. */
struct launch {
    const char *n, *hosts;
    bool oversubscribe;
    int64_t restarts;
    int rest; /* index in argv where the command begins */
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
        usage("launch needs -n N (the number of processes) before the command");
    (void)run_number("-n", l.n, 1, 1 << 20);
    if (l.rest == argc)
        usage("nothing to launch: trainc launch -n 2 -- train --cfg FILE");
    return l;
}

/*
 * Returns the path of this program for mpirun. On this machine it is the running program,
 * even if its file has been replaced since. elsewhere: other hosts use the path, too.
 */
static const char *program_path(bool elsewhere)
{
    static const char gone[] = " (deleted)";
    static char self[4096];
    static bool known;
    char *end;

    if (!known && readlink(PROCESS_SELF, self, sizeof(self) - 1) < 0)
        die("cannot read " PROCESS_SELF ": %s", strerror(errno));
    end = self + strlen(self) - strlen(gone);
    if (!known && end > self && !strcmp(end, gone) && access(self, X_OK))
        *end = '\0';
    known = true;
    if (elsewhere || file_same(self, PROCESS_SELF))
        return self;
    (void)snprintf(self, sizeof(self), "/proc/%d/exe", (int)getpid());
    return self;
}

static struct command_line command_of(const struct launch *l, int argc, char **argv)
{
    struct command_line c = {0};

    add_word(&c, "mpirun");
    add_word(&c, "-n");
    add_word(&c, l->n);
    if (l->hosts) {
        add_word(&c, "--host");
        add_word(&c, l->hosts);
    }
    if (l->oversubscribe)
        add_word(&c, "--oversubscribe");
    add_word(&c, program_path(l->hosts != NULL));
    for (int i = l->rest; i < argc; i++)
        add_word(&c, argv[i]);
    add_word(&c, NULL);
    return c;
}

/* True if a batch system may have allocated several machines, which mpirun then uses. */
static bool has_allocation(void)
{
    static const char *const variables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
                                            "PE_HOSTFILE",
                                            "OMPI_MCA_orte_default_hostfile"};
    const char *nodes = getenv("SLURM_JOB_NUM_NODES");

    for (size_t i = nodes && !strcmp(nodes, "1");
         i < sizeof(variables) / sizeof(*variables); i++)
        if (getenv(variables[i]))
            return true;
    return false;
}

/* Sets mpirun's environment variables. Returns true if all processes will run on this
 * machine. */
static bool set_variables(const struct launch *l)
{
    bool here = l->hosts ? hosts_all_here(l->hosts) : !has_allocation();

    if (!geteuid()) { /* as in a container; mpirun requires both */
        (void)setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
        (void)setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    }
    if (here)
        dist_stay_here();
    return here;
}

/* Returns how many of mpirun's children run trainc. */
static int ranks_here(pid_t mpirun)
{
    char path[64], text[4096] = "";
    int n = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)mpirun,
                   (int)mpirun);
    f = fopen(path, "re");
    if (f) {
        (void)!fread(text, 1, sizeof(text) - 1, f);
        (void)fclose(f);
    }
    for (char *cursor = text, *end; *cursor; cursor = end) {
        long pid = strtol(cursor, &end, 10);

        if (end == cursor)
            break;
        (void)snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
        n += file_same(path, PROCESS_SELF);
    }
    return n;
}

/*
 * Waits for mpirun to end. If all processes on this machine have ended, mpirun may wait
 * forever for machines that are gone, so it is killed after PATIENCE seconds.
 * here: all processes run on this machine, so mpirun's ports are closed to other machines
 * while it starts.
 */
static void wait_for_mpirun(pid_t pid, bool here, int *status)
{
    enum { PATIENCE = 5 };
    double alone_since = 0, seen_since = 0;

    while (!process_wait(pid, seen_since > 0 ? 0.1 : 0.005, status)) {
        bool any = ranks_here(pid) > 0;

        if (here && (!(seen_since > 0) || clock_now() - seen_since < 1))
            here = launch_ports_close(pid);
        if (any && !(seen_since > 0))
            seen_since = clock_now();
        if (any || !(seen_since > 0))
            alone_since = 0;
        else if (!(alone_since > 0))
            alone_since = clock_now();
        else if (clock_now() - alone_since > PATIENCE) {
            log_warning("killing mpirun: all processes on this machine have ended, but "
                        "mpirun still waits for other machines");
            (void)kill(pid, SIGKILL);
        }
    }
}

/* Runs mpirun and returns its exit code as a shell would. If this process is killed,
 * mpirun ends the others. */
static int run_once(const struct command_line *c, bool here)
{
    struct process p = {.words = c->word, .input = true, .death = SIGTERM};
    struct strbuf why = STRBUF_INIT;
    int status = 0;
    pid_t pid = process_start(&p, &why);

    if (!pid)
        die("%s; install mpirun (Debian package openmpi-bin)", why.buf);
    child = pid;
    if (stop_signal) /* the signal arrived before mpirun started */
        forward_signal(stop_signal);
    wait_for_mpirun(pid, here, &status);
    child = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* After a failure, removes the hosts that do not respond, and reduces the number of
 * processes to the remaining slots. */
static void drop_dead_hosts(struct launch *l)
{
    static char number[16];
    struct strbuf alive = STRBUF_INIT;
    int slots;

    if (!l->hosts)
        return;
    slots = hosts_alive(l->hosts, &alive);
    if (!slots)
        die("none of the hosts %s responds", l->hosts);
    if (slots < strtol(l->n, NULL, 10)) {
        (void)snprintf(number, sizeof(number), "%d", slots);
        l->n = number;
    }
    l->hosts = strbuf_detach(&alive);
}

static int launch_main(int argc, char **argv)
{
    struct launch l = parse(argc, argv);
    struct command_line c = command_of(&l, argc, argv);
    bool here = set_variables(&l);
    int code;

    process_catch_signals(forward_signal);
    while ((code = run_once(&c, here)) && code != EXIT_USAGE && !stop_signal &&
           l.restarts-- > 0) {
        log_warning("the processes ended with exit code %d; restarting from the newest "
                    "checkpoint (%lld more restarts allowed)",
                    code, (long long)l.restarts);
        drop_dead_hosts(&l);
        free(c.word);
        c = command_of(&l, argc, argv);
    }
    free(c.word);
    return stop_signal && code == 128 + SIGUSR1 ? 128 + stop_signal : code;
}

static const struct cmd_flag launch_flags[] = {
    {"-n", "N", "number of processes, each with a batch of DATA.BATCH_SIZE images"},
    {"--hosts", "LIST", "hosts and their slots: a:2,b:2 (mpirun's --host)"},
    {"--oversubscribe", NULL, "allow more processes than cores"},
    {"--restarts", "K",
     "restart failed runs up to K times, without hosts that no longer respond (0); a "
     "wrong "
     "command is not restarted"},
    {0},
};

static const char *const launch_reads[] = {NULL};

const struct verb cmd_launch = {
    .name = "launch",
    .examples = (const char *const[]){"trainc launch -n 2 -- --cfg my.yaml",
                                      "trainc launch -n 8 --hosts a:4,b:4 -- train "
                                      "--cfg my.yaml",
                                      NULL},
    .help = "train one model in several processes with mpirun",
    .about =
        "trainc launch -n 2 -- train --cfg FILE ... runs the command after -- in N "
        "processes that communicate over Open MPI; mpirun must be installed. Forwards "
        "the "
        "signals that stop training (SIGTERM, SIGINT, SIGHUP, SIGUSR1) to all processes, "
        "which save and exit. As root (in containers), lets mpirun run as root.",
    .args = "[--] VERB ...",
    .flags = launch_flags,
    .reads = launch_reads,
    .main = launch_main,
};
