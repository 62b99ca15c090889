/*
 * Several devices in one process, as in PyTorch's DataParallel: a thread for each, which
 * is a member of the group as a process would be (dist/group.h).
 *
 *   code = dist_threads(device, n, fn, arg);
 *
 * Calls fn(arg) in n threads, with the ranks 0 to n - 1; the caller's is rank 0. Returns
 * what fn returned in that. device[i] is the number of the device of rank i, and must
 * stay. Only rank 0 logs. With one device, or in a group that a launcher has started, it
 * only calls fn(arg).
 */
#ifndef DIST_THREADS_H
#define DIST_THREADS_H

int dist_threads(const int *device, int n, int (*fn)(void *arg), void *arg);

#endif
