import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';

/** When something is due, and the delay that led to it in milliseconds. Without a delay it was due at once. */
type Due = { readonly due: Timestamp; readonly delayMs?: number };

/** Maximum clock difference between two processes. */
const CLOCK_SLACK_MS = 1_000;

/**
 * Whether a due time is plausible: at most its delay ahead. One further ahead comes from a wrong clock, here or in the process that stored it;
 * a machine alone on embedded engines has nothing to compare its clock with (docs/decisions/time.md).
 */
export const isDueTrusted = ({ due, delayMs = 0 }: Due, now: number): boolean =>
  Date.parse(due) - now <= delayMs + CLOCK_SLACK_MS;

/** A pending record whose due time is not plausible, due now. Undefined for any other. */
export const dueCorrected = <T extends Due & { readonly state: string }>(record: T, now: number): T | undefined =>
  record.state === 'Pending' && !isDueTrusted(record, now) ? { ...record, due: toTimestamp(now) } : undefined;
