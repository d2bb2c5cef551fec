/*
 * Notes which thread brings which file to the disk: a line with the name of the thread and the path, in the file that SYNCS names.
 * Loaded with LD_PRELOAD by disk-waits.test.ts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int watched(const char *name, int fd) {
  char thread[16] = "", link[64], path[512], line[600];
  pthread_getname_np(pthread_self(), thread, sizeof thread);
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  int size = snprintf(line, sizeof line, "%s: %s\n", thread, path);
  int out = open(getenv("SYNCS"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (out < 0 || write(out, line, size) != size) abort();
  close(out);
  return ((int (*)(int))dlsym(RTLD_NEXT, name))(fd);
}

int fsync(int fd) { return watched("fsync", fd); }
int fdatasync(int fd) { return watched("fdatasync", fd); }
