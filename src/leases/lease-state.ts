/**
 * The rules of leases (docs/decisions/processes.md): what a process may conclude from what it has read, and how the answers of the store change
 * its own part in a lease. Pure: `lease.ts` reads, writes by compare-and-set, and passes the times.
 */

/** A lease as it is stored. */
export type LeaseDocument = {
  /** The heartbeat id of the holder; absent if the lease is free. */
  readonly session?: string;
  /** How long the holder may be silent before others take the lease, in milliseconds. */
  readonly durationMs?: number;
  /** When the document of an unused lease may be removed (ISO 8601, UTC). */
  readonly expiresAt: string;
};

/** The part of this process in a lease. The version is that of the document which names this process. */
export type LeaseState =
  | { readonly status: 'none' }
  /** The document is being written. `isLate`: meanwhile others may have considered this process dead. */
  | { readonly status: 'acquiring'; readonly version: number; readonly isLate: boolean }
  | { readonly status: 'held'; readonly version: number }
  /** Released or lost. The document may still name this process, so that others would wait for it. */
  | { readonly status: 'ended'; readonly version: number };

export const NONE: LeaseState = { status: 'none' };

export type LeaseEvent =
  | { readonly type: 'Requested'; readonly version: number }
  /** The write was made, was not made because of another one, or got no answer and may have been made. */
  | { readonly type: 'Acquired' | 'Refused' | 'Unanswered' }
  /** This process has beaten, after a silence. */
  | { readonly type: 'Beaten'; readonly silentMs: number; readonly durationMs: number }
  | { readonly type: 'Released' | 'Freed'; readonly version: number };

/** The part of this process after an event; the same object if nothing changes. */
export function evolve(state: LeaseState, event: LeaseEvent): LeaseState {
  if (event.type === 'Requested')
    return state.status === 'none' ? { status: 'acquiring', version: event.version, isLate: false } : state;
  if (state.status === 'none') return state;
  const { status, version } = state;
  const ended: LeaseState = { status: 'ended', version };
  switch (event.type) {
    case 'Acquired':
      return status !== 'acquiring' ? state : state.isLate ? ended : { status: 'held', version };
    case 'Refused':
      return status === 'acquiring' ? NONE : state;
    case 'Unanswered':
      return status === 'acquiring' ? ended : state;
    case 'Beaten':
      if (event.silentMs < event.durationMs || status === 'ended') return state;
      return status === 'held' ? ended : { status, version, isLate: true };
    case 'Released':
      return status === 'held' && version === event.version ? ended : state;
    case 'Freed':
      return status === 'ended' && version === event.version ? NONE : state;
  }
}

/** Whether this process holds the lease that it acquired at a version, so that no other process can have taken it. */
export const isHeld = (state: LeaseState, version: number, sinceLastBeatMs: number, durationMs: number): boolean =>
  state.status === 'held' && state.version === version && sinceLastBeatMs < durationMs;

/**
 * Whether this process may write its name into a lease.
 * @param isHolderSilent whether the named process has not beaten for longer than it may, by a read that began after that of the lease:
 *   otherwise it may have beaten and acquired the lease in between
 */
export const mayAcquire = (state: LeaseState, document: Partial<LeaseDocument>, isHolderSilent: boolean): boolean =>
  state.status === 'none' && (document.session === undefined || isHolderSilent);

/**
 * Whether the stored document has to be replaced by one that names no process. It is still the one that this process has given up, or the
 * one before it: then the write got no answer, and cannot be made later once the version has moved on.
 */
export const mustFree = (
  state: LeaseState,
  { version, document }: { readonly version: number; readonly document: Partial<LeaseDocument> },
  session: string,
): boolean =>
  state.status === 'ended' &&
  (version === state.version - 1 || (version === state.version && document.session === session));
