"""Trials of scripts/torture.sh, which explains them and starts this file."""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import power
import state

POOL = 96  # configurations; each has one undisturbed run, made on first use
LIMIT = 240  # seconds after which a process counts as hanging
TRAINC = os.environ["TRAINC"]
HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    pass


class Config:
    """One of POOL random configurations, determined by its number."""

    def __init__(self, number, data):
        rng = random.Random("configuration %d" % number)
        pick = rng.choice
        self.number = number
        self.kind = pick(["plain"] * 5 + ["background"] * 2 + ["ranks"] * 2 + ["sweep"])
        self.mpirun = pick(["launch", "launch", "mpirun"])
        self.segment = self.kind == "plain" and rng.random() < .15
        accumulation, batch = pick([1, 1, 2, 3]), pick([4, 8])
        if self.kind == "ranks":
            batch = 4
        o = {
            "DATA.BATCH_SIZE": batch,
            "DATA.NUM_WORKERS": pick([0, 1, 2]),
            "DATA.CACHE": pick(["none", "encoded", "decoded", "mmap"]),
            "DATA.DROP_LAST": "True" if self.kind == "ranks" else pick(["True", "False"]),
            "TRAIN.EPOCHS": pick([2, 3, 4]),
            "TRAIN.WARMUP_EPOCHS": pick([0, 1]),
            "TRAIN.BASE_LR": pick([0.01, 0.002]),
            "TRAIN.ACCUMULATION_STEPS": accumulation,
            "TRAIN.SAVE_STEPS": pick([0, 1, 2, 3]),
            "TRAIN.KEEP_CHECKPOINTS": pick([1, 2, 3]),
            "TRAIN.EVAL_FREQ": pick([1, 1, 2]),
            "TRAIN.OPTIMIZER.NAME": pick(["sgd", "adamw", "lamb", "lion", "rmsprop"]),
            "TRAIN.EMA.ENABLE": pick(["True", "True", "False"]),
            "TRAIN.EMA.DECAY": 0.9,
            "AUG.MIXUP": pick([0, 0.2]),
            "PRINT_FREQ": pick([1, 2, 3]),
            "SAVE_FREQ": pick([1, 2]),
            "SEED": pick([0, 1, 2]),
            "LOG.TENSORBOARD": pick(["True", "False"]),
            "LOG.REPORT": pick(["True", "True", "False"]),
        }
        if self.kind in ("plain", "ranks") and rng.random() < .3 and not self.segment:
            o["TRAIN.LR_SCHEDULER.NAME"] = pick(["plateau", "onecycle", "poly"])
        if self.kind == "plain" and rng.random() < .2:
            o["TRAIN.EARLY_STOP"] = 1
        if self.kind == "plain" and rng.random() < .2:
            o["TRAIN.MAX_STEPS"] = pick([3, 5])
        if self.kind == "background" or (self.kind == "ranks" and rng.random() < .3):
            o["TRAIN.VALIDATE"] = "background"
            o["TRAIN.LR_SCHEDULER.NAME"] = "cosine"
        if self.kind == "ranks":
            o["DIST.SHARD_OPTIMIZER"] = pick(["True", "False"])
            o["MODEL.SYNC_BN"] = pick(["True", "False"])
        if self.kind != "plain":
            o["DIST.TIMEOUT"] = 60
        if rng.random() < .3:
            o["HOOKS"] = json.dumps(pick([
                [{"at": "step", "run": "sleep 0.01 & wait", "shell": True}],
                [{"at": "checkpoint", "run": "sleep 30; true", "shell": True, "wait": False}],
                [{"at": "epoch", "run": "true"}, {"at": "end", "run": "sleep 0.05"}],
            ]))
        if self.segment:
            for key in [k for k in o if k.startswith(("AUG.", "TRAIN.LR_SCHEDULER"))]:
                del o[key]
            o.update({"DATA.BATCH_SIZE": 4, "DATA.TRAIN_NUM_SAMPLES": 10, "DATA.VAL_NUM_SAMPLES": 3, "MODEL.NUM_CLASSES": 5})
            o["DATA.CACHE"] = pick(["none", "decoded"])
        self.data = os.path.join(data, pick(["folder", "folder", "shards"]))
        # Processes share a file next to the data, so each configuration needs its own copy.
        self.own_data = o["DATA.CACHE"] == "mmap"
        self.model = "erfnet" if self.segment else "resnet20"
        self.set = "synthetic" if self.segment else {"folder": "folder", "shards": "tar"}[os.path.basename(self.data)]
        self.options = ["%s=%s" % item for item in sorted(o.items())]
        self.stops_early = "TRAIN.EARLY_STOP" in o
        self.halving = pick([0, 0, 1])
        if o["DATA.NUM_WORKERS"] == 0 and rng.random() < .5:
            self.options.append("DATA.PREFETCH=1")

    def command(self, data):
        size = "32" if self.segment else "16"
        train = ["--model", self.model, "--dataset", self.set, "--data-path", data, "--img-size", size, "--output", "out"]
        opts = ["--opts"] + self.options
        if self.kind == "sweep":
            return [TRAINC, "sweep", "--grid", "SEED=1,2", "--jobs", "2", "--halving", str(self.halving)] + train + opts
        if self.kind != "ranks":
            return [TRAINC] + train + opts + ["THREADS=1"]
        ranks = ["train"] + train + opts + ["THREADS=1"]
        if self.mpirun == "launch":
            return [TRAINC, "launch", "-n", "2", "--oversubscribe", "--"] + ranks
        return ["mpirun", "-n", "2", "--oversubscribe", TRAINC] + ranks


class Run:
    """A process in its own session, with all its descendants."""

    def __init__(self, trial, command, env=None):
        self.trial = trial
        self.mark = trial.mark
        self.log = os.path.join(trial.dir, "log%d" % trial.runs)
        trial.runs += 1
        with open(self.log, "wb") as log:
            self.p = subprocess.Popen(command, cwd=trial.dir, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      env=dict(os.environ, TORTURE_TRIAL=self.mark, OMPI_ALLOW_RUN_AS_ROOT="1",
                                               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **(env or {})),
                                      start_new_session=True)

    def text(self):
        with open(self.log, "rb") as f:
            return f.read().decode(errors="replace")

    def tree(self):
        """Returns living processes of the run, the run itself first."""
        found, todo = [], [self.p.pid]
        while todo:
            pid = todo.pop(0)
            try:
                with open("/proc/%d/stat" % pid) as f:
                    if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                        continue
                found.append(pid)
                for task in os.listdir("/proc/%d/task" % pid):
                    with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                        todo += [int(x) for x in f.read().split()]
            except OSError:
                pass
        return found

    def wait(self, what):
        try:
            code = self.p.wait(LIMIT)
        except subprocess.TimeoutExpired:
            tree = self.tree()
            self.kill_all()
            raise Failure("%s: hangs (%d processes)" % (what, len(tree)))
        if code in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE, 134, 139, 135, 136):
            raise Failure("%s: crashed with %d" % (what, code))
        return code

    def kill_all(self):
        for pid in marked(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.p.wait()


def marked(mark):
    """Returns all processes of a trial, no matter who their parent is."""
    found, want = [], b"TORTURE_TRIAL=" + mark.encode() + b"\0"
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/environ" % name, "rb") as f:
                    if want in f.read() + b"\0":
                        with open("/proc/%s/stat" % name) as g:
                            if g.read().rsplit(")", 1)[1].split()[0] not in "ZX":
                                found.append(int(name))
            except OSError:
                pass
    return found


def name_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace")[:80]
    except OSError:
        return "?"


class Torture:
    def __init__(self, a):
        self.a = a
        self.data = os.path.join(a.dir, "data")
        self.references = {}
        self.locks = collections.defaultdict(threading.Lock)
        self.counts = collections.Counter()
        self.failures = []
        self.make_data()

    def make_data(self):
        def trainc(*words):
            subprocess.run([TRAINC, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        os.makedirs(self.data)
        d = self.data
        trainc("synth", "shapes", "--out", d + "/folder", "--classes", "4", "--train", "28", "--val", "10", "--size", "16")
        trainc("pack", "--to", "tar", "--out", d + "/shards", "--shard", "7", "--dataset", "folder", "--data-path", d + "/folder")

    def reference(self, config):
        """Returns what an undisturbed run leaves, and its duration."""
        with self.locks[config.number]:
            if config.number not in self.references:
                t = Trial(self, "reference", config, "reference%d" % config.number)
                try:
                    began = time.time()
                    run = Run(t, t.command())
                    code = run.wait("the reference")
                    if code:
                        raise Failure("the reference ends with %d: %s" % (code, run.text()[-500:]))
                    self.references[config.number] = (state.of_output(t.out), time.time() - began)
                finally:
                    shutil.rmtree(t.dir, ignore_errors=True)
            return self.references[config.number]

    def one(self, seed):
        rng = random.Random(seed)
        kind = rng.choice(["kill"] * 3 + ["fault"] * 2 + ["power"])
        kind = self.a.only or kind
        config = Config(rng.randrange(POOL), self.data)
        t = None
        try:
            want, seconds = self.reference(config)
            t = Trial(self, kind, config, "trial%d" % seed)
            t.rng = rng
            getattr(t, kind)(want, seconds)
            self.counts[kind] += 1
            self.counts[kind, config.kind] += 1
            shutil.rmtree(t.dir, ignore_errors=True)
        except Exception as why:
            if not isinstance(why, (Failure, OSError, ValueError, KeyError)):
                raise
            self.counts[kind] += 1
            self.counts[kind, config.kind] += 1
            self.counts["failed", kind] += 1
            self.keep(seed, kind, config, t, why)

    def keep(self, seed, kind, config, t, why):
        again = "scripts/torture.sh --seed %d --trials 1 --only %s" % (seed, kind)
        self.failures.append(again)
        print("\nFAILED: %s (%s): %s\n  %s" % (kind, config.kind, why, again), flush=True)
        if t and os.path.isdir(t.dir):
            for pid in marked(t.mark):
                print("  left: %s" % name_of(pid))
                os.kill(pid, signal.SIGKILL)
            to = os.path.join(self.a.keep, "seed%d" % seed)
            shutil.rmtree(to, ignore_errors=True)
            os.makedirs(self.a.keep, exist_ok=True)
            shutil.move(t.dir, to)
            with open(os.path.join(to, "why"), "w") as f:
                f.write("%s\n%s\n%s\n%s\n" % (why, again, " ".join(t.command()), "\n".join(t.notes)))
            print("  kept in %s" % to, flush=True)

    def run(self):
        a, began, done, told = self.a, time.time(), 0, 0
        seeds = iter(range(a.seed, a.seed + (a.trials or 10**9)))
        with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
            busy = set()
            while True:
                while len(busy) < a.jobs and (a.trials or time.time() - began < a.seconds):
                    seed = next(seeds, None)
                    if seed is None:
                        break
                    busy.add(pool.submit(self.one, seed))
                if not busy:
                    break
                ended, busy = concurrent.futures.wait(busy, return_when=concurrent.futures.FIRST_COMPLETED)
                for e in ended:
                    e.result()
                    done += 1
                if time.time() - told > 5:
                    told = time.time()
                    print("%d trials, %d failures, %.0f s" % (done, len(self.failures), time.time() - began), flush=True)
        for kind in ("kill", "fault", "power"):
            of = ", ".join("%s %d" % (c, self.counts[kind, c]) for c in ("plain", "background", "ranks", "sweep"))
            print("%-5s %5d trials, %d failures (%s)" % (kind, self.counts[kind], self.counts["failed", kind], of))
        print("%d disturbances, %d of them in vain (the run was over)" % (self.counts["disturbed"], self.counts["vain"]))
        for again in self.failures:
            print(again)
        print("%d trials, %d failures" % (done, len(self.failures)))
        return 1 if self.failures else 0


class Trial:
    def __init__(self, torture, kind, config, name):
        self.torture = torture
        self.config = config
        self.dir = os.path.join(torture.a.dir, name)
        self.out = os.path.join(self.dir, "out")
        self.mark = "%s-%d" % (self.dir, os.getpid())
        self.runs = 0
        self.notes = []
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        self.data = config.data
        if config.own_data:
            self.data = os.path.join(self.dir, "data")
            shutil.copytree(config.data, self.data)

    def command(self):
        return self.config.command(self.data)

    def finish(self, want, excused=frozenset()):
        """Runs until it is complete, and compares."""
        for _ in range(4):
            run = Run(self, self.command())
            code = run.wait("started again")
            if not code:
                break
        if code:
            raise Failure("started again it ends with %d: %s" % (code, run.text()[-600:]))
        self.nobody_left()
        why = state.difference(want, state.of_output(self.out), excused)
        if why:
            raise Failure(why)

    def nobody_left(self):
        until = time.time() + 20
        while marked(self.mark):
            if time.time() > until:
                raise Failure("left behind: %s" % ", ".join(name_of(p) for p in marked(self.mark)))
            time.sleep(.02)

    # Random signals to random processes, at random instants.
    def kill(self, want, seconds):
        rng = self.rng
        for _ in range(rng.choice([1, 1, 2, 3])):
            run = Run(self, self.command())
            time.sleep(rng.random() * seconds * 1.1)
            tree = run.tree()
            self.torture.counts["disturbed"] += 1
            if run.p.poll() is not None or not tree:
                self.torture.counts["vain"] += 1
                run.wait("killed too late")
                continue
            victim = tree[0] if rng.random() < .4 else rng.choice(tree)
            sig = rng.choice([signal.SIGKILL] * 6 + [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
            # Ctrl-C on a terminal reaches the whole process group.
            group = rng.random() < .15
            self.notes.append("%s to %s%s" % (sig.name, name_of(victim), " and its group" if group else ""))
            try:
                if group:
                    os.killpg(run.p.pid, sig)
                else:
                    os.kill(victim, sig)
            except OSError:
                pass
            if victim == tree[0] and sig == signal.SIGKILL and rng.random() < .5:
                run.p.wait()  # restarted at once, while other processes still end
            else:
                run.wait("killed: " + self.notes[-1])
                self.nobody_left()
        self.finish(want)

    # Calls that fail.
    def fault(self, want, seconds):
        rng, excused = self.rng, set()
        for _ in range(rng.choice([1, 1, 2])):
            env = {
                "LD_PRELOAD": os.path.join(self.torture.a.dir, "disturb.so"),
                "TORTURE_DIR": self.out,
                "TORTURE_RATE": str(rng.choice([.002, .005, .02, .1])),
                "TORTURE_SEED": str(rng.getrandbits(40)),
                "TORTURE_FULL": str(rng.choice([0, 0, 5, 50])),
            }
            self.notes.append(json.dumps(env))
            self.torture.counts["disturbed"] += 1
            run = Run(self, self.command(), env)
            run.wait("faults")
            excused |= state.excuses(run.text())
            for folder, _, names in os.walk(self.out):  # logs of a sweep's runs
                for name in names:
                    if name.endswith(".log"):
                        with open(os.path.join(folder, name), errors="replace") as f:
                            excused |= state.excuses(f.read())
            self.nobody_left()
        if "best" in excused and self.config.stops_early:  # early stopping depends on the best score
            excused |= {"last", "metrics", "summary", "confusion"}
        self.finish(want, excused)

    # The contents of a disk after a power failure at a random instant.
    def power(self, want, seconds):
        rng = self.rng
        log = os.path.join(self.dir, "record")
        self.torture.counts["disturbed"] += 1
        env = {"LD_PRELOAD": os.path.join(self.torture.a.dir, "disturb.so"), "TORTURE_DIR": self.out, "TORTURE_LOG": log}
        if os.environ.get("TORTURE_PLANT"):
            env["TORTURE_SKIP"] = os.environ["TORTURE_PLANT"]
        run = Run(self, self.command(), env)
        if run.wait("recorded"):
            raise Failure("recorded: ends with %d" % run.p.returncode)
        records = power.read_log(log)
        os.unlink(log)
        n = rng.randrange(len(records) + 1)
        disk = power.Disk(self.dir)
        for r in records[:n]:
            disk.do(r)
        shutil.rmtree(self.out, ignore_errors=True)
        how = disk.leave(rng)
        self.notes.append("power lost after %d of %d records, names: %s" % (n, len(records), how))
        self.finish(want)


def main():
    p = argparse.ArgumentParser(prog="scripts/torture.sh")
    p.add_argument("--dir", required=True, help=argparse.SUPPRESS)
    p.add_argument("--seconds", type=float, default=3600)
    p.add_argument("--trials", type=int)
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--only", choices=["kill", "fault", "power"])
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--keep", default="torture-failures")
    a = p.parse_args()
    a.keep = os.path.abspath(a.keep)
    print("seed %d" % a.seed, flush=True)
    return Torture(a).run()


if __name__ == "__main__":
    sys.exit(main())
