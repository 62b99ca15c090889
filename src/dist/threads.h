/*
 * Several devices in one process, as in PyTorch's DataParallel: one thread per device,
 * each a member of the group as a process would be (dist/group.h).
 *
 *   code = dist_threads(device, n, fn, arg);
 *
 * Calls fn(arg) in n threads with ranks 0 to n - 1; the caller is rank 0. Returns the
 * result of fn in that thread. device[i] is the device number of rank i and must stay
 * valid. Only rank 0 logs. With one device, or in a group that a launcher has started, it
 * just calls fn(arg).
 */
#ifndef DIST_THREADS_H
#define DIST_THREADS_H

int dist_threads(const int *device, int n, int (*fn)(void *arg), void *arg);

#endif
