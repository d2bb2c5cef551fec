import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** The random id that Linux generates whenever the machine starts (random(4)); undefined on other systems. */
export const BOOT_ID = bootId();

/**
 * Identifies this machine since it was started. Cloned machines and containers may share their host name; machines that were
 * restored from one snapshot of a running machine share even the boot id. `PLACE` tells those apart. It is read here, because worker
 * threads have to know it as well.
 */
export const MACHINE = [process.env.PLACE?.trim() ?? '', BOOT_ID ?? hostname()].join(' ').trim();

function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}
