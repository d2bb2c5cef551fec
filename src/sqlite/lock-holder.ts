import { readFileSync, statSync } from 'node:fs';

/** The byte of the shared-memory file that a writer in WAL mode locks (sqlite.org/walformat.html, "WAL Locks"). */
const WRITE_LOCK_BYTE = 120;
/** Such as `1: POSIX  ADVISORY  WRITE 4711 fe:00:10207346 120 120` (proc_locks(5)). */
const WRITE_LOCK = /POSIX +ADVISORY +WRITE +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) (\d+) (\d+)/;

/** The process that holds the write lock of a database in WAL mode; undefined if unknown. */
export function lockHolder(path: string): number | undefined {
  try {
    const { ino } = statSync(`${path}-shm`);
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const [pid = 0, inode, start = 0, end = 0] = (WRITE_LOCK.exec(line)?.slice(1) ?? []).map(Number);
      if (inode === ino && start <= WRITE_LOCK_BYTE && end >= WRITE_LOCK_BYTE && pid > 0) return pid;
    }
  } catch {
    // There is no /proc.
  }
  return undefined;
}
