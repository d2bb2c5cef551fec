import { expect, onTestFinished } from 'vitest';
import type { Recorded } from '../../src/domain/events.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { openEventStoreDb } from '../../src/event-store/eventstoredb/event-store.ts';
import { ensureLogId } from '../../src/store-identity/log-id.ts';
import type { Webhooks } from '../../src/webhooks/webhooks.ts';
import { ofThisSuite } from '../document-store/engines.ts';
import { EventStoreDbServer } from '../event-store/eventstoredb/server.ts';
import { eventually } from '../eventually.ts';
import { openMailVenue, READERS, type SourcedMail } from '../mail/mail-venue.ts';
import { startSmtp } from '../mail/smtp.ts';
import { approved, requested } from '../webhooks/deliverable-events.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { COMMUNITY } from '../webhooks/venue.ts';

type Log = {
  readonly open: () => Promise<OperatedEventStore | undefined>;
  /** As after a power cut, or with a new leader. */
  readonly restart: () => void;
};

/** The engines of the log to test on, each of which a test starts for itself. */
export const logEngines = ofThisSuite<readonly [name: string, start: () => Promise<Log>]>(
  [['the embedded log', async () => ({ open: async () => undefined, restart: () => {} })]],
  [
    ['EventStoreDB with one node', () => startServer(1)],
    ['EventStoreDB with three nodes', () => startServer(3)],
  ],
);

async function startServer(nodes: 1 | 3): Promise<Log> {
  const server = await EventStoreDbServer.start({ nodes });
  onTestFinished(() => server.stop());
  return {
    open: () => openEventStoreDb({ url: server.url }),
    restart() {
      const next = server.nodes[(server.nodes.indexOf(server.leader) + 1) % nodes];
      if (nodes === 1 || next === undefined) server.restart();
      else server.elect(next);
    },
  };
}

/** A store with a webhook and two readers of mail, and a receiver and a mail server that answer. */
export async function openHouse(log: Log) {
  const receiver = await startReceiver();
  const smtp = await startSmtp();
  const events = await log.open();
  const venue = await openMailVenue({ url: smtp.url, ...(events && { log: events }) });
  onTestFinished(async () => {
    await venue.close();
    await receiver.close();
    await smtp.kill();
  });
  await ensureLogId(venue.events, Date.now);
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  let booked = 0;
  /** The events that are owed to the webhook, and those of them that are owed to the readers. */
  const owed: { readonly eventId: string; readonly isMailed: boolean }[] = [];

  /** Appends events: `r`equests and `a`pprovals, which are sent, and `o`thers, which the filters of the groups skip. */
  async function append(kinds: string): Promise<void> {
    for (const kind of kinds) {
      booked += 1;
      const { type: _, ...other } = approved({ bookingId: booked });
      const event =
        kind === 'r'
          ? requested({ bookingId: booked })
          : kind === 'a'
            ? approved({ bookingId: booked })
            : ({ type: 'BookingCompleted', ...other } as Recorded);
      const eventId = await venue.append(event);
      if (kind !== 'o') owed.push({ eventId, isMailed: kind === 'r' });
    }
  }

  return { venue, webhookId, append, owed };
}

export type House = Awaited<ReturnType<typeof openHouse>>;
type Venue = Pick<House['venue'], 'deliver' | 'send'>;
type Process = { readonly webhooks: Webhooks; readonly mail: SourcedMail };

export const startProcess = async (venue: Venue, stores: object = {}): Promise<Process> => ({
  webhooks: await venue.deliver(stores),
  mail: await venue.send(stores),
});
export const stopProcess = ({ webhooks, mail }: Process) => Promise.all([webhooks.stop(), mail.stop()]);

/** Waits until every event has its delivery and its mails. */
export async function allRecorded({ webhooks, mail }: Process, { owed, webhookId }: Pick<House, 'owed' | 'webhookId'>) {
  await eventually(async () => {
    const missing: string[] = [];
    for (const { eventId, isMailed } of owed) {
      if ((await webhooks.getDelivery(`${eventId}:${webhookId}`)) === undefined) missing.push(`delivery of ${eventId}`);
      for (const reader of isMailed ? READERS : [])
        if ((await mail.get(`BookingRequested:${eventId}:${reader}`)) === undefined)
          missing.push(`mail to ${reader} of ${eventId}`);
    }
    expect(missing, `of ${owed.length}`).toEqual([]);
  });
}
