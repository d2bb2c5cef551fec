import { setTimeout as delay } from 'node:timers/promises';
import { foldedDays } from '../folded-days.ts';
import type { NodeProcess } from '../service/node-process.ts';
import type { Receiver } from '../webhooks/receiver.ts';
import type { Acknowledged, Slot } from './load.ts';
import type { Store } from './store.ts';

/** How long deliveries may take after the last process has settled. */
const SETTLE_MS = 60_000;

/** Registers a webhook for the receiver. `name` identifies its deliveries. @returns the id */
export async function register(
  at: NodeProcess,
  apiKey: string,
  receiver: Receiver,
  { name, events }: { readonly name: string; readonly events: number },
): Promise<string> {
  const response = await fetch(`${at.url}/api/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `${receiver.url}&as=${name}`, events }),
  });
  const registered = JSON.parse(await response.text());
  if (response.status !== 201) throw new Error(`The webhook was not registered: ${JSON.stringify(registered)}`);
  return registered.id;
}

/** Acknowledged bookings that a process does not list, lists elsewhere or without approval, and slots that it lists twice. */
export async function lost(
  { url }: NodeProcess,
  apiKey: string,
  acknowledged: readonly Acknowledged[],
  approved: readonly number[] = [],
): Promise<string[]> {
  const response = await fetch(`${url}/api/v1/bookings`, { headers: { authorization: `Bearer ${apiKey}` } });
  const text = await response.text();
  if (response.status !== 200) return [`${url} does not list bookings: ${response.status} ${text}`];
  const listed: { id: number; spaceId: number; date: string; startHour: number; status: string }[] = JSON.parse(text);
  const ids = new Map(listed.map((booking) => [booking.id, booking]));
  const slots = new Set(listed.map(({ spaceId, date, startHour }) => `${spaceId} ${date} ${startHour}`));
  const missing = acknowledged.filter(({ bookingId }) => !ids.has(bookingId));
  const elsewhere = acknowledged.filter(({ bookingId, ...slot }) => {
    const at = ids.get(bookingId);
    return at !== undefined && nameOf(slot) !== nameOf({ ...at, startTime: at.date });
  });
  const approvedHere = new Set(listed.filter(({ status }) => status === 'Approved').map(({ id }) => id));
  const notApproved = approved.filter((id) => !approvedHere.has(id));
  return [
    ...(notApproved.length > 0 ? [`Approved, and not listed so: ${notApproved.slice(0, 5)}`] : []),
    ...(missing.length > 0
      ? [`${missing.length} acknowledged bookings are not listed: ${JSON.stringify(missing.slice(0, 3))}`]
      : []),
    ...(elsewhere.length > 0 ? [`Listed at another time or space: ${JSON.stringify(elsewhere.slice(0, 3))}`] : []),
    ...(ids.size !== listed.length || slots.size !== listed.length
      ? ['A booking is listed twice, or two have one slot']
      : []),
  ];
}

const nameOf = ({ spaceId, startTime, startHour }: Slot): string => `${spaceId} ${startTime} ${startHour}`;

/** Checks in the log that no bookings overlap, and that each acknowledged booking holds one slot, where it is. */
export async function notHeldOnce(store: Store, acknowledged: readonly Acknowledged[]): Promise<string[]> {
  const { wrong, days } = await store.onLog(foldedDays);
  const held = new Map<number, string[]>();
  for (const { held: bookings } of days.values())
    for (const [id, { request }] of bookings)
      held.set(id, [...(held.get(id) ?? []), nameOf({ ...request, startTime: request.date })]);
  const misplaced = acknowledged.filter(({ bookingId, ...slot }) => held.get(bookingId)?.join() !== nameOf(slot));
  return [
    ...wrong.map((each) => `Overlap: ${each}`),
    ...misplaced.map(
      ({ bookingId, ...slot }) => `Booking ${bookingId} of ${nameOf(slot)} holds ${held.get(bookingId)}`,
    ),
  ];
}

/** Checks that the log contains each acknowledged booking once, and no others: a repeated request makes no second booking. */
export async function notInLog(
  store: Store,
  brandId: number,
  acknowledged: readonly Acknowledged[],
): Promise<string[]> {
  const made = await store.onLog(async (events) =>
    (await Array.fromAsync(events.readAll({ types: ['BookingRequested'] }))).filter(
      ({ data }) => data.brandId === brandId,
    ),
  );
  const ids = made.map(({ data }) => Number(data.bookingId));
  const known = new Set(acknowledged.map(({ bookingId }) => bookingId));
  const unknown = ids.filter((id) => !known.has(id));
  const twice = ids.filter((id, n) => ids.indexOf(id) !== n);
  const inLog = new Set(ids);
  const missing = [...known].filter((id) => !inLog.has(id));
  return [
    ...(missing.length > 0 ? [`Acknowledged and not in the log: ${missing.slice(0, 5)}`] : []),
    ...(twice.length > 0 ? [`Twice in the log: ${twice.slice(0, 5)}`] : []),
    ...(unknown.length > 0 ? [`Booked without an answer: ${unknown.slice(0, 5)}`] : []),
    ...(known.size !== acknowledged.length ? ['Two acknowledged bookings have one id'] : []),
  ];
}

/** Problems found by the command line: read models that differ from the log, and events that failed in the fan-out. */
export async function notVerified(store: Store, releases: readonly (string | undefined)[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const release of releases) {
    const verified = await store.venue(['verify'], release);
    if (verified.code !== 0) wrong.push(`verify: ${verified.stdout}${verified.stderr}`);
  }
  const parked = await store.venue(['parked', 'list']);
  if (parked.code !== 0) wrong.push(`parked list: ${parked.stderr}`);
  // An event of a newer release is retried indefinitely, and never parked.
  else if (JSON.parse(parked.stdout).some(({ state }: { state: string }) => state === 'Parked'))
    wrong.push(`Parked: ${parked.stdout}`);
  return wrong;
}

/** An expected delivery: its receiver and its event. */
export const deliveryOf = (name: string, event: string, id: number | string): string => `${event} ${id} to ${name}`;

/**
 * Waits for deliveries, and reports those that are missing or arrived under several ids.
 * @param expected from `deliveryOf`
 */
export async function undelivered(
  receivers: readonly Receiver[],
  expected: readonly string[],
  withinMs = SETTLE_MS,
): Promise<string[]> {
  const ids = new Map<string, Set<string>>();
  let seen = receivers.map(() => 0);
  const look = () => {
    seen = receivers.map(({ received }, n) => {
      for (const { body, headers, path } of received.slice(seen[n])) {
        const { event, data } = JSON.parse(body);
        const name = new URL(path ?? '', 'http://receiver').searchParams.get('as') ?? '';
        const delivery = deliveryOf(name, event, data.bookingId ?? data.survey);
        ids.set(delivery, (ids.get(delivery) ?? new Set()).add(String(headers['webhook-id'])));
      }
      return received.length;
    });
    return expected.filter((delivery) => !ids.has(delivery));
  };
  const deadline = performance.now() + withinMs;
  while (look().length > 0 && performance.now() < deadline) await delay(100);
  return [
    ...look().map((delivery) => `Never delivered: ${delivery}`),
    ...[...ids].filter(([, under]) => under.size > 1).map(([delivery]) => `Delivered under several ids: ${delivery}`),
  ];
}

/** The number of deliveries, and of requests that repeated an earlier delivery. */
export function countDeliveries(receivers: readonly Receiver[]): { deliveries: number; repeated: number } {
  const ids = receivers.flatMap(({ received }) => received.map(({ headers }) => String(headers['webhook-id'])));
  const deliveries = new Set(ids).size;
  return { deliveries, repeated: ids.length - deliveries };
}
