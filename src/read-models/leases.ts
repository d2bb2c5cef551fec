import type { DocumentStore } from '../document-store/document-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { type Leases, openLeases } from '../leases/lease.ts';

export const READ_MODEL_LEASES = 'readModelLeases';
/** The lease of the process that keeps the read models of a release up to date, and that of a rebuild. */
export const projectorLease = (name: string): string => `projector:${name}`;
export const rebuildLease = (name: string): string => `rebuild:${name}`;
/** The lease of the process that counts how long generations of any release have been unused. */
export const CLEANUP_LEASE = 'cleanup';

/** @param durationMs how long a holder may be silent, in milliseconds. Default: as long as any process */
export const openReadModelLeases = (
  documents: DocumentStore,
  heartbeats: Heartbeats<object>,
  durationMs = heartbeats.silenceMs,
): Promise<Leases> => openLeases({ documents, heartbeats, collection: READ_MODEL_LEASES, durationMs, clock: Date.now });
