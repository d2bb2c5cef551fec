import { readFileSync, statSync } from 'node:fs';

/** The byte of the shared-memory file that a writer in WAL mode locks (sqlite.org/walformat.html, "WAL Locks"). */
const WRITE_LOCK_BYTE = 120;

/** The process that holds the write lock of a database in WAL mode; undefined if unknown. */
export function lockHolder(path: string): number | undefined {
  try {
    const { ino } = statSync(`${path}-shm`);
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      // Such as `1: POSIX  ADVISORY  WRITE 4711 fe:00:10207346 120 120` (proc_locks(5)).
      const [, kind, , mode, pid, place = '', start, end] = line.split(/ +/);
      const isLocked = Number(start) <= WRITE_LOCK_BYTE && Number(end) >= WRITE_LOCK_BYTE;
      const isOurs = Number(place.split(':').at(-1)) === ino;
      if (kind === 'POSIX' && mode === 'WRITE' && isOurs && isLocked && Number(pid) > 0) return Number(pid);
    }
  } catch {
    // There is no /proc.
  }
  return undefined;
}
