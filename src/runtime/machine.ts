import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Identifies this boot of this machine. Cloned machines and containers may share a host name, and machines restored from one
 * snapshot share even the boot id; `PLACE` distinguishes those. Read from the environment here, because worker threads need it as
 * well.
 */
export const MACHINE = [process.env.PLACE?.trim() ?? '', bootId() ?? hostname()].join(' ').trim();

/** The random id that Linux generates whenever the machine starts (random(4)); undefined on other systems. */
function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}
