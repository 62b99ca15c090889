/*
 * A lock between processes: flock(2) on a file. It ends with the process, however that
 * ends, so locks are never stale.
 */
#ifndef BASE_FILE_LOCK_H
#define BASE_FILE_LOCK_H

/*
 * Opens the file, created if missing (its folder exists), and waits until no other
 * process holds the lock; calls `waiting` once before it waits. Reopens a file that was
 * removed or renamed meanwhile. Returns the descriptor, which holds the lock until it is
 * closed, or -1 with errno. On a file system without locks it holds none.
 */
int file_lock(const char *path, void (*waiting)(void *arg), void *arg);

#endif
