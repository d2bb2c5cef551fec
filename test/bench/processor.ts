import { readFileSync } from 'node:fs';

/** Of Linux, everywhere. */
const TICKS_PER_SECOND = 100;

export type Processor = {
  /** Processor time since the process started, over all its threads, in milliseconds. */
  cpuMs(): number;
  /** Memory private to the process; the mapped pages of its files belong to the system's cache. */
  memoryMiB(): number;
};

/** What `/proc` knows of a process. */
export const processorOf = (pid: number): Processor => ({
  cpuMs() {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the name, which may contain anything: utime and stime are fields 14 and 15.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_SECOND;
  },
  memoryMiB: () => Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024,
});
