/*
 * Fails what changes a file, as a full, read-only or broken disk does: the file that FAILING names holds the number of the error, and the
 * end of the paths that it meets. Loaded with LD_PRELOAD by failing-disk.test.ts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The error of a path, or 0. */
static int error_of(const char *path) {
  char rule[600] = "";
  int fd = syscall(SYS_openat, AT_FDCWD, getenv("FAILING"), O_RDONLY);
  if (fd < 0) return 0;
  ssize_t size = syscall(SYS_read, fd, rule, sizeof rule - 1);
  syscall(SYS_close, fd);
  char *end = strchr(rule, ' ');
  if (size <= 0 || end == NULL) return 0;
  size_t length = strlen(path), wanted = strlen(end + 1);
  if (wanted > length || strcmp(path + length - wanted, end + 1) != 0) return 0;
  return atoi(rule);
}

static int fails(int fd) {
  char link[64], path[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return (errno = error_of(path)) != 0;
}

#define REAL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

#define ON_FILE(result, name, declared, given)                                       \
  result name declared { return fails(fd) ? -1 : REAL(result, #name, TYPES) given; }

#define TYPES int, const void *, size_t
ON_FILE(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
#undef TYPES
#define TYPES int, const void *, size_t, off_t
ON_FILE(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
ON_FILE(ssize_t, pwrite64, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
#undef TYPES
#define TYPES int, const struct iovec *, int
ON_FILE(ssize_t, writev, (int fd, const struct iovec *data, int count), (fd, data, count))
#undef TYPES
#define TYPES int, off_t
ON_FILE(int, ftruncate, (int fd, off_t size), (fd, size))
ON_FILE(int, ftruncate64, (int fd, off_t size), (fd, size))
#undef TYPES
#define TYPES int
ON_FILE(int, fsync, (int fd), (fd))
ON_FILE(int, fdatasync, (int fd), (fd))

/* What is there already can be opened, but for writing not on a read-only disk. */
static int opens(const char *name, const char *path, int flags, mode_t mode) {
  int error = (flags & (O_CREAT | O_ACCMODE)) == O_RDONLY ? 0 : error_of(path);
  if (error != 0 && (error == EROFS || access(path, F_OK) != 0)) {
    errno = error;
    return -1;
  }
  return REAL(int, name, const char *, int, ...)(path, flags, mode);
}

#define OPENING(name)                                                                \
  int name(const char *path, int flags, ...) {                                       \
    va_list more;                                                                    \
    va_start(more, flags);                                                           \
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                        \
    va_end(more);                                                                    \
    return opens(#name, path, flags, mode);                                          \
  }
OPENING(open)
OPENING(open64)
