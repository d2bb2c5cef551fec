import { pino } from 'pino';
import type { Recorded } from '../../src/domain/events.ts';
import { timestamp } from '../../src/domain/ids.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { type Heartbeats, startHeartbeats } from '../../src/leases/heartbeats.ts';
import {
  type Compose,
  createMail,
  type Mail,
  type MailDeps,
  type MailSource,
  type Message,
  type NewMail,
} from '../../src/mail/mail.ts';
import type { NodeStatus } from '../../src/read-models/node-status.ts';
import type { Webhooks } from '../../src/webhooks/webhooks.ts';
import { IDLE } from '../node-status.ts';
import { openVenue, SECRET_KEY } from '../webhooks/venue.ts';

export const FROM = { name: 'Bookings', address: 'bookings@venue.example' };
/** Each request is mailed to both. */
export const READERS = ['usr_ada', 'usr_bob'] as const;
export const addressOf = (userId: string): string => `${userId}@example.com`;

const logger = pino({ level: process.env.LOG_LEVEL ?? 'silent' });

const compose: Compose = async ({ userId, about }, others = []): Promise<Message> => ({
  to: addressOf(userId),
  subject: others.length === 0 ? `Booking ${about.bookingId}` : `Digest of ${others.length + 1}`,
  text: `Booking ${about.bookingId} was requested.`,
  html: `<p>Booking ${about.bookingId} was requested.</p>`,
});

/** Mail whose source is known: it starts without one. */
export type SourcedMail = Omit<Mail, 'prepare' | 'start'> & { prepare(): Promise<void>; start(): void };

/** Mail with a log, read models and a clock that can be moved, on the embedded engines unless given a log. Several can share a folder. */
export async function openMailVenue({
  url,
  ...where
}: {
  readonly folder?: string;
  readonly log?: OperatedEventStore;
  readonly url?: string;
} = {}) {
  const venue = await openVenue(where);
  const stops: (() => Promise<void>)[] = [];
  const heartOf = new Map<object, Heartbeats<NodeStatus>>();

  const recipientsOf = async ({ type, id, metadata, data }: Recorded): Promise<readonly NewMail[]> =>
    type !== 'BookingRequested'
      ? []
      : READERS.map((userId) => ({
          kind: type,
          cause: id,
          userId,
          account: 'Community:3' as const,
          at: metadata.at,
          about: { bookingId: data.bookingId },
        }));

  return {
    ...venue,

    /** Mail as another process would have it. */
    async open({ tuning, ...deps }: Partial<MailDeps & MailSource> = {}): Promise<SourcedMail> {
      const status: NodeStatus = { ...IDLE, roles: ['mail'] };
      const heartbeats = await startHeartbeats<NodeStatus>({ documents: venue.documents, status });
      const mail = await createMail({
        events: venue.events,
        documents: venue.documents,
        readModels: venue.readModels,
        heartbeats,
        clock: venue.clock,
        logger,
        config: { smtp: url === undefined ? undefined : { url, from: FROM }, mailInbox: false, secretKey: SECRET_KEY },
        tuning: { pollIntervalMs: 20, markEveryMs: 20, pauseAfter: () => 50, ...tuning },
        ...deps,
      });
      const source: MailSource = {
        recipients: { kinds: ['BookingRequested'], reads: [], of: recipientsOf },
        compose,
        reminders: async function* () {},
        ...deps,
      };
      const sourced = { ...mail, prepare: () => mail.prepare(source), start: () => mail.start(source) };
      heartOf.set(sourced, heartbeats);
      stops.push(async () => {
        await mail.stop();
        await heartbeats.stop();
      });
      return sourced;
    },

    /** Makes a process look dead to the others. */
    async silence({ webhooks, mail }: { readonly webhooks: Webhooks; readonly mail: SourcedMail }): Promise<void> {
      await Promise.all([venue.silence(webhooks), heartOf.get(mail)?.stop()]);
    },

    /** The same, which also sends. */
    async send(deps: Partial<MailDeps & MailSource> = {}): Promise<SourcedMail> {
      const mail = await this.open(deps);
      await mail.prepare();
      mail.start();
      return mail;
    },

    /** A mail about a booking to Ada, which happened `ago` milliseconds ago. */
    newMail: (bookingId: number, ago = 0): NewMail => ({
      kind: 'BookingApproved',
      cause: `event-${bookingId}`,
      userId: READERS[0],
      account: 'Community:3',
      about: { bookingId },
      at: timestamp(new Date(venue.clock() - ago).toISOString()),
    }),

    async close() {
      await Promise.all(stops.map((stop) => stop()));
      await venue.close();
    },
  };
}
