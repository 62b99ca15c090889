/*
 * Several devices in one process, as DataParallel has them: a thread each, and each a
 * member of the group as a process would be (dist/group.h).
 *
 *   code = dist_threads(device, n, fn, arg);
 *
 * Calls fn(arg) in n threads, the caller's among them, with the ranks 0 to n - 1, and
 * gives what it returned in the first. device[i] is the number of the device of rank i.
 * The log is that of the first thread. One device, or a group that a launcher has started:
 * fn(arg) alone.
 */
#ifndef DIST_THREADS_H
#define DIST_THREADS_H

int dist_threads(const int *device, int n, int (*fn)(void *arg), void *arg);

#endif
