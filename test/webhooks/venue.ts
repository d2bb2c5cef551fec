import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect } from 'vitest';
import { projections } from '../../projections/index.ts';
import { type Commands, createCommands } from '../../src/commands/commands.ts';
import { openCredentials } from '../../src/credentials/credentials.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { type Account, OPERATOR } from '../../src/domain/account.ts';
import type { DomainEvent, Recorded } from '../../src/domain/events.ts';
import { brandId, communityId, timestamp } from '../../src/domain/ids.ts';
import {
  type ExpectedRevision,
  LOG_START,
  logEnd,
  type OperatedEventStore,
} from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { type Heartbeats, startHeartbeats } from '../../src/leases/heartbeats.ts';
import { readMarks } from '../../src/outbox/marks.ts';
import { createPersonalData } from '../../src/personal-data/personal-data.ts';
import { openPhotos } from '../../src/photos/photos.ts';
import { openProjector } from '../../src/projector/projector.ts';
import type { NodeStatus } from '../../src/read-models/node-status.ts';
import { createWriter } from '../../src/threads/writer.ts';
import { newSigningSecret } from '../../src/webhooks/send/signature.ts';
import { createWebhooks, type Webhooks, type WebhooksDeps } from '../../src/webhooks/webhooks.ts';
import { accepted } from '../accepted.ts';
import { changedStore } from '../event-store/changed-store.ts';
import { eventually } from '../eventually.ts';
import { IDLE } from '../node-status.ts';

export const COMMUNITY: Account = { kind: 'Community', id: communityId(3) };
export const BRAND: Account = { kind: 'Brand', id: brandId(9) };

export type Registered = {
  readonly webhookId: string;
  readonly signingSecret: string;
  readonly apiKeyId: string;
};

export type Venue = Awaited<ReturnType<typeof openVenue>>;

const context = { actor: OPERATOR, correlationId: 'test' };
const logger = pino({ level: 'silent' });
export const SECRET_KEY = Buffer.alloc(32, 7);
const QUOTAS = {
  apiKeysPerAccount: 1_000,
  spacesPerCommunity: 1_000,
  photoBytesPerCommunity: 1_000_000,
  accountPerDay: { events: 1_000_000, bytes: 1_000_000_000 },
};

/**
 * The parts of the service that webhooks need: log, read models, commands. Uses the embedded engines unless given a log. Several
 * can share a folder.
 */
export async function openVenue({
  folder: shared,
  log,
  withWriter = false,
  webhooksPerAccount = 100,
}: {
  readonly folder?: string;
  readonly log?: OperatedEventStore;
  /** Records are written by another thread, as in a service. */
  readonly withWriter?: boolean;
  readonly webhooksPerAccount?: number;
} = {}) {
  const folder = shared ?? (await mkdtemp(join(tmpdir(), 'venue-webhooks-')));
  let shift = 0;
  const clock = () => Date.now() + shift;
  const events = log ?? (await openSqliteEventStore({ path: join(folder, 'log.sqlite') }));
  const writer = withWriter ? createWriter({ log: undefined, documents: folder }, logger) : undefined;
  const documents = await openSqliteDocumentStore({ folder, clock, elsewhere: writer });
  writer?.start();
  const status: NodeStatus = IDLE;
  /** The heartbeat of one process. */
  const beating = () => startHeartbeats<NodeStatus>({ documents, status });
  let gate: PromiseWithResolvers<void> | undefined;
  const heartbeats = await beating();
  const projector = await openProjector({
    events: changedStore(events, {
      async *subscribe(options) {
        for await (const batch of events.subscribe(options)) {
          await gate?.promise;
          yield batch;
        }
      },
    }),
    documents,
    projections,
    heartbeats,
    logger,
    tickMs: 50,
  });
  projector.start();
  await projector.readModels.readable(10_000);
  const credentials = await openCredentials(documents);
  const personalData = createPersonalData({ documents, secretKey: SECRET_KEY, clock });
  const commands: Commands = await createCommands({
    events,
    documents,
    credentials,
    photos: await openPhotos({ documents, clock }),
    readModels: projector.readModels,
    personalData,
    clock,
    settings: { serviceFeePercent: 15, currency: 'USD', secretKey: SECRET_KEY, ...QUOTAS, webhooksPerAccount },
    makeSigningSecret: newSigningSecret,
    urlProblem: () => undefined,
  });
  const running: Webhooks[] = [];
  const hearts: Heartbeats<NodeStatus>[] = [heartbeats];
  const heartOf = new Map<Webhooks, Heartbeats<NodeStatus>>();

  return {
    folder,
    clock,
    commands,
    events,
    documents,
    credentials,
    personalData,
    readModels: projector.readModels,
    /** Moves the clock, in milliseconds. */
    advance(by: number) {
      shift += by;
    },
    /** Halts the read models until they are released. */
    holdProjector() {
      gate = Promise.withResolvers();
    },
    releaseProjector() {
      gate?.resolve();
      gate = undefined;
    },

    /** Registers a webhook for an account, with a new key. */
    async register(account: Account, url: string, mask = 15): Promise<Registered> {
      const permissions = 16;
      const { apiKeyId } = accepted(await commands.apiKeys.issue({ account, permissions, label: 'test' }, context));
      const owner = { account, credential: `apiKey:${apiKeyId}` as const };
      const { webhookId, signingSecret } = accepted(
        await commands.webhooks.register({ owner, url, events: mask }, context),
      );
      return { webhookId, signingSecret, apiKeyId };
    },

    /** Registers a webhook for an account, as an OAuth client. */
    async registerApp(account: Account, url: string): Promise<string> {
      const owner = { account, credential: 'client:app' as const };
      return accepted(await commands.webhooks.register({ owner, url, events: 15 }, context)).webhookId;
    },

    rotate: async (webhookId: string) => accepted(await commands.webhooks.rotate({ webhookId }, context)).signingSecret,
    remove: async (webhookId: string) => accepted(await commands.webhooks.remove({ webhookId }, context)),
    disable: async (webhookId: string, reason = 'test') =>
      accepted(await commands.webhooks.disable({ webhookId, reason }, context)),
    enable: async (webhookId: string) => accepted(await commands.webhooks.enable({ webhookId }, context)),
    revoke: async (apiKeyId: string) => commands.apiKeys.revoke({ apiKeyId }, context),

    /** Appends an event with the current time to a new stream. @returns its id */
    async append(event: Recorded<DomainEvent>): Promise<string> {
      const [id = ''] = await this.appendTo(`test-${randomBytes(6).toString('hex')}`, [event]);
      return id;
    },

    /** Appends events with the current time to a stream, by default a new one. @returns their ids */
    async appendTo(
      stream: string,
      happened: readonly Recorded<DomainEvent>[],
      expectedRevision: ExpectedRevision = 'none',
    ): Promise<string[]> {
      const at = timestamp(new Date(clock()).toISOString());
      const appended = happened.map(({ type, data, metadata }) => ({
        id: randomUUIDv7(),
        type,
        data,
        metadata: { ...metadata, at },
      }));
      await events.append(stream, appended, { expectedRevision });
      return appended.map(({ id }) => id);
    },

    /** Waits until the last event of the log, which is of this kind, has been fanned out. */
    async fannedOut(kind: DomainEvent['type']): Promise<void> {
      const end = await logEnd(events);
      await eventually(async () => {
        const marks = await readMarks(documents, 'webhooks');
        expect((marks[kind] ?? LOG_START) >= end).toBe(true);
      });
    },

    /** Starts a deliverer as another process would. */
    async deliver({ tuning, ...deps }: Partial<WebhooksDeps> = {}): Promise<Webhooks> {
      const heart = await beating();
      hearts.push(heart);
      const webhooks = await createWebhooks({
        events,
        documents,
        heartbeats: heart,
        readModels: projector.readModels,
        personalData,
        credentials,
        config: { secretKey: SECRET_KEY, webhooksAllowPrivate: true },
        clock,
        logger,
        commands: commands.webhooks,
        isConnected: async () => true,
        tuning: { pollIntervalMs: 20, markEveryMs: 20, ...tuning },
        ...deps,
      });
      await webhooks.start();
      running.push(webhooks);
      heartOf.set(webhooks, heart);
      return webhooks;
    },

    /** Makes a deliverer look dead to the others, which it notices seconds later. */
    silence: async (webhooks: Webhooks) => heartOf.get(webhooks)?.stop(),

    async close() {
      await Promise.all(running.map((webhooks) => webhooks.stop()));
      gate?.resolve();
      await projector.stop();
      await Promise.all(hearts.map((heart) => heart.stop()));
      await writer?.stop();
      await events.close();
      await documents.close();
      if (shared === undefined) await rm(folder, { recursive: true });
    },
  };
}
