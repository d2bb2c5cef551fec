import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';

/** The random id that Linux generates whenever the machine starts (random(4)); undefined on other systems. */
export const BOOT_ID = bootId();

/**
 * Identifies this boot of this machine. Cloned machines and containers may share a host name, and machines restored from one
 * snapshot share even the boot id; `PLACE` distinguishes those. Read from the environment here, because worker threads need it as
 * well.
 */
export const MACHINE = [process.env.PLACE?.trim() ?? '', BOOT_ID ?? hostname()].join(' ').trim();

function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Whether a host name or address is one of this machine. False if unknown. */
export async function isThisMachine(host: string): Promise<boolean> {
  const found = await lookup(host).catch(() => undefined);
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some(({ address }) => address === found?.address) || /^127\./.test(found?.address ?? '');
}
