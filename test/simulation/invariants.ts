import type { EventType, Recorded } from '../../src/domain/events.ts';
import { messageIdOf } from '../../src/mail/mail-record.ts';
import type { Clients } from './clients.ts';
import type { Fleet } from './fleet.ts';
import type { LogChecks, LoggedEvent } from './log-checks.ts';
import type { DocumentsDisk } from './memory-documents.ts';
import type { Outside } from './outside.ts';
import type { Entry } from './plan.ts';
import { RATE } from './process.ts';

const DAY_MS = 86_400_000 / RATE;
const MAIL_HOST = 'venue.example';
/** The tries of a delivery. */
const TRIES = 10;

export type World = {
  readonly documents: DocumentsDisk;
  readonly fleet: Fleet;
  readonly clients: Clients;
  readonly outside: Outside;
  readonly log: LogChecks;
  readonly now: () => number;
  /** What went wrong, and when its times count from. */
  readonly entries: readonly Entry[];
  readonly begun: number;
};

/** What is not as it must be once all has gone well for some days. */
export async function problemsAtTheEnd(world: World): Promise<readonly string[]> {
  return [
    ...wrongAnswers(world),
    ...unfinished(world),
    ...undelivered(world),
    ...notMailed(world),
    ...(await notVerified(world)),
  ];
}

/** Each accepted try is in the log, once; none that was refused is. */
function wrongAnswers({ clients, log }: World): readonly string[] {
  const logged = [...log.events.values()];
  const byCorrelation = Map.groupBy(logged, ({ event }) => event.metadata.correlationId);
  const requests = logged.flatMap(({ event, at }) =>
    event.type === 'BookingRequested' ? [{ id: event.data.bookingId, key: event.data.idempotencyKey, at }] : [],
  );
  const byKey = Map.groupBy(requests, ({ key }) => key);
  return clients.tries.flatMap((made) => {
    const { correlationId, outcome, bookingId, key } = made;
    const found = (byCorrelation.get(correlationId) ?? []).filter(isOwn);
    const told = `${correlationId} was ${outcome}`;
    if (outcome === 'refused' && found.length > 0) return [`${told}, and ${found[0]?.event.type} is in the log`];
    if (made.events !== undefined && found.length !== made.events)
      return [`${told} with ${made.events} events; the log has ${found.length}`];
    if (bookingId !== undefined && !log.bookings.has(bookingId))
      return [`${told} as booking ${bookingId}, which is not in the log`];
    const [first, ...others] = key === undefined ? [] : (byKey.get(key) ?? []);
    if (others.length > 0) return [`${key} has made ${others.length + 1} bookings`];
    if (outcome === 'accepted' && key !== undefined && first?.id !== bookingId)
      return [`${told} as booking ${bookingId}; its key has made ${first?.id}`];
    if (outcome === 'refused' && first !== undefined && first.at < made.at)
      return [`${told}, though its key had made booking ${first.id}`];
    return [];
  });
}

/** Whether an event is the answer to its command. Each command also finishes the moves that it meets. */
function isOwn({ event }: LoggedEvent, _: number, all: readonly LoggedEvent[]): boolean {
  const isMoved = (id: number) =>
    all.some(({ event: { type, data } }) => type === 'BookingMoved' && data.bookingId === id);
  if (event.type === 'BookingApproved') return !isMoved(event.data.bookingId);
  return !MOVE_TYPES.has(event.type);
}
const MOVE_TYPES: ReadonlySet<string> = new Set<EventType>([
  'BookingMoveAgreed',
  'BookingMoved',
  'BookingMoveEnded',
  'HoursRefused',
  'HoursLeft',
]);

/** Nothing is left to be done. */
function unfinished({ log, documents, now }: World): readonly string[] {
  const late = [...log.bookings.values()].flatMap(({ id, status, expiry, end }) => {
    const due = status === 'Pending' ? expiry : status === 'Approved' ? end : Number.POSITIVE_INFINITY;
    return due < now() - LATE_MS ? [`Booking ${id} is still ${status}`] : [];
  });
  const moving = documentsIn(documents, 'bookings').filter(({ isMoving }) => isMoving === 'yes');
  const working = documentsIn(documents, 'closures').filter(({ state }) => state === 'Working');
  const parked = ['fanOutFailures', 'mailFailures'].flatMap((name) => documentsIn(documents, name));
  return [
    ...late,
    ...moving.map(({ bookingId }) => `A move of booking ${bookingId} is not finished`),
    ...working.map(({ closureId }) => `The closed time ${closureId} is not finished`),
    ...parked.map((failure) => `An event was not handled: ${JSON.stringify(failure)}`),
  ];
}
const LATE_MS = 6 * 3_600_000;

/** Each registration has got what it is owed. */
function undelivered({ log, documents }: World): readonly string[] {
  const stored = new Map(documentsIn(documents, 'webhookDeliveries').map((one) => [String(one.deliveryId), one]));
  const kept = [...log.registrations.values()].filter(({ removedAt }) => removedAt === undefined);
  const bookings = [...log.bookings.values()];
  return kept.flatMap((registration) => {
    const owed = bookings.flatMap(({ events }) => log.owedTo(registration, events));
    return owed.flatMap(({ event: { id, type } }) => {
      const deliveryId = `${id}:${registration.id}`;
      const attempts = log.attempts(deliveryId);
      const state = stored.get(deliveryId)?.state;
      // The receiver has failed for as long as is tried.
      const isGivenUp = state === 'Failed' && attempts.length >= TRIES;
      if (isGivenUp || attempts.some(({ isTaken }) => isTaken)) return [];
      return [`The ${type} ${deliveryId} was not delivered: ${state}, ${attempts.length} tries`];
    });
  });
}

/** Members who stay have got their mails, and no mail has gone out that is not stored. */
function notMailed(world: World): readonly string[] {
  const { log, documents, clients, outside } = world;
  const mails = new Map(documentsIn(documents, 'mails').map((mail) => [String(mail.mailId), mail]));
  const known = new Set([...mails.keys()].map((mailId) => messageIdOf(mailId, MAIL_HOST)));
  const strange = outside.mails.filter(({ mail }) => !known.has(mail.messageId));
  const taken = new Set(outside.mails.filter(({ isTaken }) => isTaken).map(({ mail }) => mail.messageId));
  const events = [...log.events.values()].filter(({ at }) => at >= world.begun);
  const owed = events.flatMap((logged) => {
    const reader = readerOf(logged.event);
    return reader === undefined
      ? []
      : [{ logged, mailId: `${logged.event.type}:${logged.event.id}:${clients.users.get(reader)}` }];
  });
  const lost = owed.flatMap(({ logged, mailId }) => {
    const { state = 'not stored', inDigest, reason } = mails.get(mailId) ?? {};
    const isDone =
      state === 'Skipped' || (state === 'Sent' && (inDigest === true || taken.has(messageIdOf(mailId, MAIL_HOST))));
    const mayBeTooOld = state !== 'Pending' && state !== 'Sent' && isDisturbed(world, logged);
    return isDone || mayBeTooOld ? [] : [`The mail ${mailId} was not sent: ${state}, ${reason}`];
  });
  return [...strange.map(({ mail }) => `A mail was sent that is not stored: ${mail.subject}`), ...lost];
}

/** Who of those who stay members gets a mail about an event. */
function readerOf(event: Recorded): string | undefined {
  if (event.type === 'BookingRequested' && event.data.communityId === 1) return 'community';
  return event.type === 'BookingApproved' && event.data.brandId === 1 ? 'brand' : undefined;
}

/** Whether so much went wrong in the day after an event that it may be too old to be mailed. */
function isDisturbed({ entries, begun }: World, { at }: LoggedEvent): boolean {
  const [from, to] = [at - begun, at - begun + DAY_MS];
  const wrong = entries.reduce(
    (sum, entry) =>
      sum + ('fault' in entry ? Math.max(0, Math.min(to, entry.at + entry.forMs) - Math.max(from, entry.at)) : 0),
    0,
  );
  return wrong > DAY_MS / 4;
}

/** The read models are as the log says. */
async function notVerified({ fleet }: World): Promise<readonly string[]> {
  const [process] = fleet.from(0);
  const core = process?.service?.core;
  if (process === undefined || core === undefined) return ['No process is running'];
  const { differences, notVerified: missing } = await process.run(() => core.maintenance.verify(() => {}));
  return [
    ...differences.map((one) => `verify: ${JSON.stringify(one)}`),
    ...missing.map((name) => `verify: no ${name}`),
  ];
}

/** The documents of a collection, or of the read model of that name. */
function documentsIn(disk: DocumentsDisk, name: string): readonly { readonly [field: string]: unknown }[] {
  return [...disk.collections].flatMap(([each, { entries }]) =>
    each === name || each.endsWith(`.${name}`)
      ? [...entries.values()].flatMap(({ document }) => (document === undefined ? [] : [Object(document)]))
      : [],
  );
}
