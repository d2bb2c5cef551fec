/* Makes every fsync take 20 ms longer: loaded with LD_PRELOAD by checkout.ts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

static int slowly(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  int result = real(fd);
  usleep(20000);
  return result;
}

int fsync(int fd) { return slowly("fsync", fd); }
int fdatasync(int fd) { return slowly("fdatasync", fd); }
