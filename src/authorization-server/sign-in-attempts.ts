import { createHmac } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { normalisedEmail } from '../auth/users.ts';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { derivedKey } from '../secrets/derived-key.ts';
import { purposes } from '../secrets/purposes.ts';

/** Wrong passwords within the window: for an e-mail from one network, and from one network for whatever e-mail. */
export type SignInLimits = { readonly perEmail: number; readonly perNetwork: number };

const WINDOW_MS = 15 * 60_000;

/**
 * Counts wrong passwords, over all processes and whether or not such a user exists (docs/decisions/accounts.md). What comes from
 * one network never counts against another: a stranger cannot lock a user out from everywhere.
 */
export type SignInAttempts = {
  /**
   * Counts an attempt as failed, before its password is compared: those that arrive together count, too.
   * @returns 0 if it may be made, otherwise how long to wait in milliseconds; nothing is counted then
   */
  begin(email: string, address: string): Promise<number>;
  /** Takes back what was counted for the e-mail, and this one attempt for the network: the password was right. */
  succeeded(email: string, address: string): Promise<void>;
};

/** How many there were since the first, of which the window ends then. */
type Counted = { readonly count: number; readonly until: Timestamp };

const COLLECTION: Collection<Counted> = { name: 'signInAttempts', kind: 'record', ttl: 'until', indexes: [] };

export async function openSignInAttempts(deps: {
  readonly documents: DocumentStore;
  readonly secretKey: Buffer;
  readonly clock: Clock;
  readonly limits: SignInLimits;
}): Promise<SignInAttempts> {
  const { clock, limits } = deps;
  const counts = await deps.documents.open(COLLECTION);
  const key = derivedKey(deps.secretKey, purposes.signInAttempts);
  const keyOf = (...of: readonly string[]) => createHmac('sha256', key).update(of.join(' ')).digest('base64url');
  const keysOf = (email: string, address: string) => {
    const network = networkOf(address);
    return { ofNetwork: keyOf(network), ofEmail: keyOf(network, normalisedEmail(email)) };
  };

  /** Counts one more, unless there were too many. @returns how long to wait in milliseconds */
  async function count(key: string, max: number): Promise<number> {
    for (;;) {
      const now = clock();
      const stored = await counts.get(key);
      const known = stored && isOpen(stored.document, now) ? stored.document : undefined;
      if (known !== undefined && known.count >= max) return Date.parse(known.until) - now;
      const next = { count: (known?.count ?? 0) + 1, until: known?.until ?? toTimestamp(now + WINDOW_MS) };
      const isWritten =
        stored === undefined ? await counts.insert(key, next) : await counts.replace(key, next, stored.version);
      if (isWritten) return 0;
    }
  }

  async function takeBack(key: string): Promise<void> {
    for (;;) {
      const stored = await counts.get(key);
      if (stored === undefined || stored.document.count === 0) return;
      const next = { ...stored.document, count: stored.document.count - 1 };
      if (await counts.replace(key, next, stored.version)) return;
    }
  }

  return {
    async begin(email, address) {
      const { ofNetwork, ofEmail } = keysOf(email, address);
      const wait = await count(ofNetwork, limits.perNetwork);
      if (wait > 0) return wait;
      const waitForEmail = await count(ofEmail, limits.perEmail);
      if (waitForEmail > 0) await takeBack(ofNetwork);
      return waitForEmail;
    },

    async succeeded(email, address) {
      const { ofNetwork, ofEmail } = keysOf(email, address);
      await Promise.all([counts.delete(ofEmail), takeBack(ofNetwork)]);
    },
  };
}

/** A window that ends later than any can was begun by a clock that was ahead. */
function isOpen({ until }: Counted, now: number): boolean {
  const left = Date.parse(until) - now;
  return left > 0 && left <= WINDOW_MS;
}

/** An IPv4 address, or the first 64 bits of an IPv6 address: whoever has one of those has all of them. */
export function networkOf(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return plain;
  // The URL parser writes every form of an address in the same way, an embedded IPv4 address included.
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::');
  const [before, after] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const groups = [
    ...(before ?? []),
    ...Array(8 - (before?.length ?? 0) - (after?.length ?? 0)).fill('0'),
    ...(after ?? []),
  ];
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') {
    const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  return groups.slice(0, 4).join(':');
}
