import { projections } from '../../projections/index.ts';
import { LOG_START } from '../../src/event-store/event-store.ts';
import { messageIdOf } from '../../src/mail/mail-record.ts';
import { verify } from '../../src/projector/verify.ts';
import { MAIL_HOST, type World } from './await-world.ts';
import { newDocumentsDisk, openMemoryDocuments } from './memory-documents.ts';
import { openMemoryEvents } from './memory-events.ts';
import { finished } from './virtual-time.ts';

/** What the log, the records and the receivers hold in the end, in lines that are the same however often something was tried again. */
export type Outcome = readonly string[];

export function outcomeOf({ events: { log }, documents, delivered, mailed }: World): Outcome {
  const requests = log.filter(({ type }) => type === 'BookingRequested');
  /** Bookings have another number, and events another id, each time. */
  const keys = new Map(requests.map(({ data }) => [data.bookingId, data.idempotencyKey]));
  const nameOf = (type: unknown, bookingId: unknown) => `${type} ${keys.get(Number(bookingId)) ?? ''}`;
  const names = new Map(log.map(({ id, type, data }) => [id, nameOf(type, data.bookingId)]));
  const recordsOf = (collection: string) =>
    Array.from(documents.collections.get(collection)?.entries.values() ?? [], ({ key, document = {} }) => ({
      key,
      state: Reflect.get(document, 'state'),
    }));

  const happened = log.filter(({ type }) => type !== 'IdsReserved').map(({ id }) => `happened: ${names.get(id)}`);
  const deliveries = recordsOf('webhookDeliveries').map(
    ({ key, state }) => `delivery: ${names.get(key.split(':')[0] ?? '')}: ${state}`,
  );
  /** What arrived first of each booking, in order: a delivery that is repeated may come late. */
  const arrived = new Map<string, Set<string>>();
  for (const body of delivered) {
    const { event, data } = JSON.parse(body);
    arrived.getOrInsertComputed(String(keys.get(data.bookingId)), () => new Set()).add(event);
  }
  const mails = recordsOf('mails').flatMap(({ key, state }) => {
    const [kind, cause = '', userId] = key.split(':');
    // Whether there is still time to remind of a request, and whether it is still news, depends on the moment.
    if (kind === 'AnswerDue') return [];
    const isOutdated = kind === 'BookingRequested' && state === 'Skipped';
    const isSent = isOutdated || (state === 'Sent' && mailed.includes(messageIdOf(key, MAIL_HOST)));
    return `mail: ${kind} of ${names.get(cause)} to ${userId}: ${isSent ? 'sent' : `${state}, but not sent`}`;
  });
  const failed = ['fanOutFailures', 'mailFailures'].flatMap((each) =>
    recordsOf(each).map(({ key }) => `failed: ${key}`),
  );
  const reused = keys.size === requests.length ? [] : ['A number was given to two bookings'];
  const arrivals = Array.from(arrived, ([key, kinds]) => `arrived: ${key}: ${[...kinds].join(', ')}`);
  const end = log.at(-1)?.position ?? LOG_START;
  const behind = Array.from(documents.checkpoints.values(), ({ position }) => position)
    .filter((position) => position !== end)
    .map((position) => `The read models stand at ${position}, the log at ${end}`);
  return [...happened, ...deliveries, ...arrivals, ...mails, ...failed, ...reused, ...behind].sort();
}

/** In what two outcomes differ. */
export function differencesBetween(expected: Outcome, actual: Outcome): readonly string[] {
  const without = (lines: Outcome, others: Outcome) => {
    const rest = [...others];
    return lines.filter((line) => {
      const index = rest.indexOf(line);
      if (index >= 0) rest.splice(index, 1);
      return index < 0;
    });
  };
  return [
    ...without(expected, actual).map((line) => `Missing: ${line}`),
    ...without(actual, expected).map((line) => `Not owed: ${line}`),
  ];
}

/** In what the read models differ from the fold of the log. */
export async function readModelFaults({ events, documents }: World): Promise<readonly string[]> {
  const { differences, notVerified } = await finished(
    verify({
      events: openMemoryEvents(events),
      documents: openMemoryDocuments(documents),
      projections,
      openScratch: async () => openMemoryDocuments(newDocumentsDisk()),
    }),
  );
  return [
    ...differences.map((each) => `Not as the log says: ${JSON.stringify(each)}`),
    ...notVerified.map((name) => `Not kept up to date: ${name}`),
  ];
}
