import type { CheckReadiness } from '../api/health.ts';
import type { Audit } from '../audit/audit.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import { within } from '../event-loop/within.ts';
import { MAIL_CAUSES, type Mail } from '../mail/mail.ts';
import type { ReadModelsStatus } from '../read-models/status.ts';
import type { Clock } from '../runtime/clock.ts';
import { lastBackup } from '../transfer/last-backup.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { Reading } from './prometheus.ts';

/** How long a value is used again. Scrapes of several servers, or a curious reader, thus cost no more than one. */
const USED_FOR_MS = 3_000;
/** How long a fact about the whole store may take to be read. */
const FACT_WITHIN_MS = 2_000;

/** What is read of the service for its metrics, beside what is counted. */
export function createReadings(deps: {
  readonly check: CheckReadiness;
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly webhooks: Pick<Webhooks, 'oldestPendingDelivery' | 'countOpenBreakers'>;
  readonly mail: Pick<
    Mail,
    'oldestPending' | 'countPending' | 'senders' | 'awaySince' | 'awayBecause' | 'countFailedEvents'
  >;
  readonly audit: Pick<Audit, 'sealedUpTo'>;
  readonly clock: Clock;
  /** The free bytes on the disk of the embedded files, if there are any. */
  readonly freeBytes?: () => Promise<number>;
}): readonly Reading[] {
  const { documents, webhooks, mail, audit, clock, freeBytes } = deps;
  const readiness = usedAgain(() => deps.check(() => {}));
  const ageOf = (time: string | undefined) =>
    time === undefined ? 0 : Math.max(0, clock() - Date.parse(time)) / 1_000;
  const secondsOf = (time: string | undefined) => (time === undefined ? undefined : Date.parse(time) / 1_000);
  const gauge = (name: string, help: string, read: () => Promise<number | undefined>): Reading => ({
    name,
    help,
    read,
  });
  const ofReadModels = (name: string, help: string, measure: (status: ReadModelsStatus) => number | undefined) =>
    gauge(name, help, async () => measure(present((await readiness()).readModels)));
  const ofFailedEvents = (name: string, help: string, state: 'parked' | 'retrying') =>
    gauge(name, help, async () => present((await readiness()).failedEvents)[state]);

  const withoutMails = ofStore(mail.countFailedEvents);

  return [
    gauge('venue_ready', 'Whether /readyz answers 200.', async () => Number((await readiness()).status === 'ready')),
    {
      name: 'venue_store_up',
      help: 'Whether a store responds.',
      label: 'store',
      read: async () =>
        new Map(
          Object.entries(present((await readiness()).stores)).map(([store, state]) => [store, Number(state === 'ok')]),
        ),
    },
    ofReadModels('venue_read_model_position_events', 'Events that the read models show.', ({ events }) => events),
    ofReadModels(
      'venue_read_model_lag_events',
      'Events that the read models do not show yet, counted up to 1,001.',
      ({ lag }) => lag,
    ),
    ofReadModels(
      'venue_read_model_lag_seconds',
      'How long ago the first event happened that the read models do not show.',
      ({ behindSince }) => ageOf(behindSince),
    ),
    ofReadModels(
      'venue_read_models_failing',
      'Read models that fail on an event.',
      ({ problems }) => problems.filter(({ state }) => state === 'failing').length,
    ),
    ofFailedEvents(
      'venue_webhook_parked_events',
      'Events that no delivery was made of, until an operator replays them.',
      'parked',
    ),
    ofFailedEvents(
      'venue_webhook_retrying_events',
      'Events that failed to become deliveries and are tried again.',
      'retrying',
    ),
    gauge('venue_clock_wrong', 'Whether the clock of this machine is wrong.', async () =>
      Number((await readiness()).clock !== undefined),
    ),
    ...(freeBytes === undefined
      ? []
      : [gauge('venue_disk_free_bytes', 'Free room on the disk of DATA_DIR.', usedAgain(freeBytes))]),
    gauge(
      'venue_webhook_oldest_pending_seconds',
      'Age of the oldest delivery that has not reached its receiver; 0 if there is none.',
      ofStore(async () => ageOf(await webhooks.oldestPendingDelivery())),
    ),
    gauge(
      'venue_webhook_open_breakers',
      'Endpoints that have failed so often that they are only probed.',
      ofStore(webhooks.countOpenBreakers),
    ),
    gauge(
      'venue_mail_oldest_pending_seconds',
      'Age of the oldest mail that has not been sent; 0 if there is none.',
      ofStore(async () => ageOf(await mail.oldestPending())),
    ),
    gauge('venue_mail_pending', 'Mails that wait to be sent.', ofStore(mail.countPending)),
    gauge('venue_mail_senders', 'Living processes with the role mail.', ofStore(mail.senders)),
    gauge(
      'venue_mail_server_away_seconds',
      'How long the mail server has taken no mail; 0 if it does.',
      ofStore(async () => ageOf(await mail.awaySince())),
    ),
    {
      name: 'venue_mail_server_problem',
      help: 'Whether this is why the mail server does not take all mail.',
      label: 'cause',
      read: ofStore(async () => {
        const because = await mail.awayBecause();
        return new Map(Object.entries(MAIL_CAUSES).map(([cause, words]) => [words, Number(cause === because)]));
      }),
    },
    gauge(
      'venue_mail_parked_events',
      'Events that no mail was made of, until an operator replays them.',
      async () => (await withoutMails()).parked,
    ),
    gauge(
      'venue_mail_retrying_events',
      'Events that failed to become mails and are tried again.',
      async () => (await withoutMails()).retrying,
    ),
    gauge(
      'venue_last_backup_timestamp_seconds',
      'When the last complete `venue backup` began.',
      ofStore(async () => secondsOf(await lastBackup(documents))),
    ),
    gauge(
      'venue_last_seal_timestamp_seconds',
      'When the last event happened that a checkpoint covers.',
      ofStore(async () => secondsOf(await audit.sealedUpTo())),
    ),
  ];
}

function present<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('It could not be read');
  return part;
}

const ofStore = <T>(read: () => Promise<T>) => usedAgain(() => within(FACT_WITHIN_MS, read()));

/** The same, reading at most once in {@link USED_FOR_MS}. */
function usedAgain<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly result: Promise<T> } | undefined;
  return () => {
    const now = performance.now();
    if (last === undefined || now - last.at >= USED_FOR_MS) last = { at: now, result: read() };
    return last.result;
  };
}
