import { pino } from 'pino';
import { type DeliverableEvent, isDeliverable } from '../../src/contract/webhook-payload.ts';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { brandOf } from '../../src/domain/account.ts';
import type { Recorded } from '../../src/domain/events.ts';
import { timestamp, webhookId } from '../../src/domain/ids.ts';
import { inRounds } from '../../src/event-loop/rounds.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { createMailFanOut } from '../../src/mail/fan-out.ts';
import { MailQueue } from '../../src/mail/mail-queue.ts';
import { mailIdOf } from '../../src/mail/mail-record.ts';
import { createMailer } from '../../src/mail/mailer.ts';
import type { NewMail } from '../../src/mail/new-mail.ts';
import type { SendResult as MailResult } from '../../src/mail/outcome.ts';
import { openServerState } from '../../src/mail/server-state.ts';
import type { OutboxRole } from '../../src/outbox/marks.ts';
import type { Sending } from '../../src/outbox/outbox.ts';
import type { Progress } from '../../src/outbox/progress.ts';
import type { OutboxQueue } from '../../src/outbox/queue.ts';
import type { ReadModels } from '../../src/read-models/read-models.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import { openBreakers } from '../../src/webhooks/breakers.ts';
import { createDeliverer } from '../../src/webhooks/deliverer.ts';
import { FAN_OUT_GROUPS } from '../../src/webhooks/fan-out/groups.ts';
import { storeDeliveries } from '../../src/webhooks/fan-out/store-deliveries.ts';
import { DeliveryQueue } from '../../src/webhooks/queue.ts';
import type { SendResult } from '../../src/webhooks/send/sender.ts';

/** What a receiver does with what it is sent. */
export type Answer = 'takes it' | 'refuses it' | 'is away';

export const POLL_MS = 5;
export const KINDS = ['BookingRequested', 'BookingApproved', 'BookingCancelled'] as const;
export const NO_LOG = pino({ level: 'silent' });

type ProcessDeps = {
  readonly events: OperatedEventStore;
  readonly documents: DocumentStore;
  readonly readModels: ReadModels;
  readonly clock: Clock;
  readonly isActive: () => boolean;
  /** How many receivers the account has that made the booking. */
  readonly receiversOf: (brandId: number) => number;
  /** Called with the id of a record when it is sent. */
  readonly receive: (id: string) => Promise<Answer>;
};

/** One of the two ways from an event to something sent, with its real fan-out, queue and sender. */
export type Way = {
  readonly role: OutboxRole;
  readonly groups: typeof FAN_OUT_GROUPS;
  /** The state of what was sent. */
  readonly sent: string;
  /** Whether what belongs to one booking goes out in the order of the log. */
  readonly isOrdered: boolean;
  /** How much of an account may be sent before what another account waits for. */
  readonly mostAhead: number;
  /** The id of the record of an event for a receiver of the account. */
  readonly idOf: (event: Pick<Recorded, 'id' | 'type'>, brandId: number, receiver: number) => string;
  open(deps: Pick<ProcessDeps, 'documents' | 'clock'>): Promise<Pick<OutboxQueue<Progress>, 'existing'>>;
  send(deps: ProcessDeps): Promise<Sending>;
};

const IN_FLIGHT = { perEndpoint: 4, perAccount: 4, all: 4 };
const webhookOf = (brandId: number, receiver: number) => webhookId(`wh_${brandId}-${receiver}`);

const POSTED: Readonly<Record<Answer, SendResult>> = {
  'takes it': { status: 200, duration: 1, answer: '' },
  'refuses it': { status: 500, duration: 1, answer: '' },
  'is away': { error: { type: 'Timeout', message: 'No response' }, duration: 1, answer: '' },
};

const webhooks: Way = {
  role: 'webhooks',
  groups: FAN_OUT_GROUPS,
  sent: 'Delivered',
  isOrdered: true,
  mostAhead: IN_FLIGHT.all,
  idOf: ({ id }, brandId, receiver) => `${id}:${webhookOf(brandId, receiver)}`,
  open: DeliveryQueue.open,

  async send({ events, documents, readModels, clock, isActive, receiversOf, receive }) {
    const queue = await DeliveryQueue.open({ documents, clock });
    const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] as const;
    const url = 'https://receiver.example/';
    const deliverer = createDeliverer({
      queue,
      registrations: {
        recipient: async (id) => ({
          webhookId: webhookId(id),
          account: `Brand:${Number.parseInt(id.slice(3), 10)}`,
          url,
          secrets,
        }),
      },
      bodies: { bodyOf: async ({ body }) => body, attemptToStore: async (_, attempt) => attempt },
      sender: { post: async ({ headers }) => POSTED[await receive(headers['webhook-id'] ?? '')] },
      breakers: await (await openBreakers({ documents, clock })).load(),
      disable: async () => {},
      clock,
      isActive,
      logger: NO_LOG,
      inFlight: IN_FLIGHT,
      pollIntervalMs: POLL_MS,
    });
    const registrations = {
      async matching({ data }: Recorded<DeliverableEvent>) {
        const owner = brandOf(data);
        return Array.from({ length: receiversOf(owner.id) }, (_, receiver) => ({
          webhookId: webhookOf(owner.id, receiver),
          owner,
          account: `Brand:${owner.id}` as const,
          credential: 'client:app' as const,
          url,
          events: 15,
          status: 'enabled' as const,
          sealedSecret: '',
          previousSecrets: [],
          createdAt: timestamp('2026-01-01T00:00:00.000Z'),
          registeredAt: '',
          activeSince: '',
        }));
      },
    };
    return {
      start: deliverer.start,
      stop: deliverer.stop,
      async handle(event) {
        if (isDeliverable(event))
          await storeDeliveries({ events, readModels, registrations, queue, deliverer, clock }, event);
      },
    };
  },
};

const MAILED: Readonly<Record<Answer, MailResult>> = {
  'takes it': { outcome: 'accepted', code: 250, response: '250 OK' },
  'refuses it': { outcome: 'refused', isFinal: false, code: 450, response: '450 Later' },
  'is away': { outcome: 'unreachable', cause: 'NoAnswer', response: 'No response' },
};
/** Mails that are read, and made, ahead of those that are being sent. */
const MADE_AHEAD = 64 + 4;

const mail: Way = {
  role: 'mail',
  groups: [],
  sent: 'Sent',
  isOrdered: false,
  mostAhead: MADE_AHEAD,
  // A user for each event, because a user gets few mails in an hour.
  idOf: ({ id, type }, _, receiver) => `${type}:${id}:usr_${receiver}_${id}`,
  open: MailQueue.open,

  async send({ documents, clock, isActive, receiversOf, receive }) {
    const queue = await MailQueue.open({ documents, clock });
    const clockProblem = async () => undefined;
    const stopping = new AbortController();
    let correcting: Promise<void> | undefined;
    const mailer = createMailer({
      queue,
      compose: async (one) => ({ to: `${one.userId}@example.com`, subject: mailIdOf(one), text: '', html: '' }),
      sender: { send: async ({ subject }) => MAILED[await receive(subject)], close: async () => {} },
      server: await openServerState({ documents, clock }),
      host: 'venue.example',
      clock,
      clockProblem,
      logger: NO_LOG,
      isActive,
      onOutcome: () => {},
      pollIntervalMs: POLL_MS,
      pauseAfter: () => POLL_MS,
    });
    const recipients = {
      kinds: KINDS,
      reads: [],
      async of({ id, type, data, metadata }: Recorded): Promise<readonly NewMail[]> {
        const kind = KINDS.find((each) => each === type);
        if (kind === undefined || !('brandId' in data) || !('bookingId' in data)) return [];
        const { brandId, bookingId } = data;
        return Array.from({ length: receiversOf(brandId) }, (_, receiver) => ({
          kind,
          cause: id,
          userId: `usr_${receiver}_${id}`,
          account: `Brand:${brandId}` as const,
          about: { bookingId },
          at: metadata.at,
        }));
      },
    };
    return {
      async start() {
        await mailer.start();
        // Once a minute in `mail.ts`.
        correcting = inRounds(POLL_MS, stopping.signal, () => queue.correctDue().catch(() => {}));
      },
      handle: createMailFanOut({ recipients, queue, wake: mailer.wake, clock, clockProblem }),
      async stop() {
        stopping.abort();
        await Promise.all([mailer.stop(), correcting]);
      },
    };
  },
};

export const ways: readonly Way[] = [webhooks, mail];
