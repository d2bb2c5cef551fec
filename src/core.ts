import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { projections } from '../projections/index.ts';
import { type Audit, createAudit } from './audit/audit.ts';
import { type AddressConfirmation, createAddressConfirmation } from './auth/address-confirmation.ts';
import { type ApiKeyUsage, createApiKeyUsage } from './auth/api-key-usage.ts';
import type { Changing } from './auth/change-follow-up.ts';
import { createEndings } from './auth/endings.ts';
import { openInvitationRecords } from './auth/invitation-records.ts';
import { createInvitations, type Invitations } from './auth/invitations.ts';
import { createLinks } from './auth/links.ts';
import { createPasswordReset, type PasswordReset } from './auth/password-reset.ts';
import { openUserLookups } from './auth/user-lookups.ts';
import { createUsers, type Users } from './auth/users.ts';
import { openAttemptCounts } from './authorization-server/attempt-counts.ts';
import { type AuthorizationServer, createAuthorizationServer } from './authorization-server/authorization-server.ts';
import { createRevocation } from './authorization-server/revocation.ts';
import { type Commands, createCommands } from './commands/commands.ts';
import type { Config } from './config.ts';
import { type CheckedFiles, openCheckedFiles } from './console/sessions/checked-files.ts';
import { deleteSessionsOf } from './console/sessions/session-records.ts';
import { type Credentials, openCredentials } from './credentials/credentials.ts';
import type { OperatedDocumentStore } from './document-store/document-store.ts';
import { defined } from './domain/defined.ts';
import {
  COMMAND_STARTS_WITHIN_MS,
  closeStores,
  openIdentity,
  openSqliteDocuments,
  openStores,
  type Stores,
} from './engines.ts';
import type { OperatedEventStore } from './event-store/event-store.ts';
import { isLoopbackHost } from './http/loopback.ts';
import { type Heartbeats, startHeartbeats } from './leases/heartbeats.ts';
import { composeLinks } from './mail/compose/links.ts';
import { type ContactConfirmation, createContactConfirmation } from './mail/contact-confirmation.ts';
import { createAccountContacts } from './mail/contacts.ts';
import { createMail, type Mail } from './mail/mail.ts';
import { createMailContent, INBOX_SENDER, type MailContent } from './mail/mail-content.ts';
import { createMailPreferences } from './mail/preferences.ts';
import { MAILED } from './mail/recipients.ts';
import { createUnsubscribing } from './mail/unsubscribing.ts';
import { type Metrics, NO_METRICS } from './monitoring/metrics.ts';
import { readServiceStatus, type ServiceStatus } from './monitoring/service-status.ts';
import { createStoreFacts, type StoreFacts } from './monitoring/store-facts.ts';
import { checkWebhookUrl } from './outbound/public-address.ts';
import type { CopyOf } from './personal-data/copies.ts';
import { destroyKeysForgottenSince } from './personal-data/forgotten.ts';
import { createPersonalData, type PersonalData } from './personal-data/personal-data.ts';
import { listReadModels } from './projector/listing.ts';
import { openProjector, type Projector } from './projector/projector.ts';
import { createQueries, type Queries } from './queries/queries.ts';
import { generationName } from './read-models/generations.ts';
import type { NodeStatus } from './read-models/node-status.ts';
import { RELEASE } from './release.ts';
import { type Clock, systemClock } from './runtime/clock.ts';
import { type ClockWatch, createClockWatch } from './scheduler/clock-watch.ts';
import { withFormerKeys } from './store-identity/former-keys.ts';
import type { StoreIdentity } from './store-identity/store-identity.ts';
import type { Writer } from './threads/writer.ts';
import { newSigningSecret } from './webhooks/send/signature.ts';
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts';

/** How long an operator's command waits for a read model to catch up with the log before it reads. */
const TOOL_CATCHES_UP_WITHIN_MS = 30_000;
/** How long it waits until the read models show its own change. Another command may first have to release their leases. */
const TOOL_READ_MODEL_WAIT_MS = 10_000;

export type CoreOptions = {
  readonly clock?: Clock;
  /** A `tool`, such as the command line, may run beside a service. Default `service`. */
  readonly kind?: NodeStatus['kind'];
  /** Starts a thread that makes the durable commits of the embedded engines. Default: this thread makes them. */
  readonly withWriter?: boolean;
  /** Counts what this process does. Default: nothing does. */
  readonly metrics?: Metrics;
};

/** The stores of a process and their read models. */
export type Base = {
  /** With the former secret keys of the store. */
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly events: OperatedEventStore;
  readonly documents: OperatedDocumentStore;
  readonly writer: Writer | undefined;
  readonly identity: StoreIdentity;
  readonly heartbeats: Heartbeats<NodeStatus>;
  readonly clockWatch: ClockWatch;
  readonly projector: Projector;
  close(): Promise<void>;
};

/**
 * Opens the configured engines, checks that they belong together, and opens the read models.
 * @throws {UnusableStore} if a file is damaged, or log, records and read models do not belong together
 * @throws {ConfigError} if the secret key is not that of the store
 */
export async function openBase(config: Config, logger: Logger, options: CoreOptions = {}): Promise<Base> {
  const { clock = systemClock(config.clockShift), withWriter, kind } = options;
  const stores = await openStores(config, logger, {
    clock,
    ...defined({ withWriter }),
    ...(kind === 'tool' && { startWithinMs: COMMAND_STARTS_WITHIN_MS }),
  });
  try {
    return await buildBase(config, logger, clock, options, stores);
  } catch (error) {
    await closeStores(stores);
    throw error;
  }
}

async function buildBase(
  given: Config,
  logger: Logger,
  clock: Clock,
  { kind = 'service' }: CoreOptions,
  stores: Stores,
): Promise<Base> {
  const { events, documents, writer } = stores;
  const identity = await openIdentity(given, stores, logger, clock);
  await identity.check();
  await destroyRestoredKeys(stores, logger);
  const config: Config = { ...given, secretKey: await withFormerKeys(documents, given.secretKey) };
  const roles = kind === 'tool' ? [] : [...config.roles];
  const status: NodeStatus = {
    kind,
    projects: false,
    wants: generationName(projections),
    release: RELEASE,
    roles,
    hostname: hostname(),
    pid: process.pid,
  };
  const heartbeats = await startHeartbeats<NodeStatus>({ documents, status });
  const projector = await openProjector({
    events,
    documents,
    projections,
    heartbeats,
    logger,
    kind,
    retireAfterMs: config.retireAfterMs,
    ...(kind === 'tool' && { catchUpWithinMs: TOOL_CATCHES_UP_WITHIN_MS }),
  });
  const { clockShift } = config;
  const clockWatch = createClockWatch({ events, documents, heartbeats, clockShift, logger });
  return {
    config,
    logger,
    clock,
    events,
    documents,
    writer,
    identity,
    heartbeats,
    clockWatch,
    projector,
    async close() {
      clockWatch.stop();
      await identity.stop();
      await heartbeats.stop();
      await closeStores(stores);
    },
  };
}

/** Destroys keys of forgotten subjects that a restore of older records has put back. */
async function destroyRestoredKeys(stores: Stores, logger: Logger): Promise<void> {
  const subjects = await destroyKeysForgottenSince(stores);
  if (subjects.length === 0) return;
  await stores.documents.purge();
  logger.warn({ subjects }, 'The records were older than the log and held keys of forgotten subjects; destroyed them');
}

/** The assembled service before anything runs. The command line uses it beside a running service. */
export type Core = Base & {
  readonly personalData: PersonalData;
  readonly credentials: Credentials;
  readonly commands: Commands;
  /**
   * Commands for demo data, with another clock, a longer wait for read models and no limit of requests; see {@link createCommands}.
   */
  readonly commandsAt: (clock: Clock, readModelWaitMs?: number) => Promise<Commands>;
  readonly users: Users;
  readonly passwordReset: PasswordReset;
  readonly addressConfirmation: AddressConfirmation;
  readonly contactConfirmation: ContactConfirmation;
  readonly checkedFiles: CheckedFiles;
  readonly invitations: Invitations;
  readonly queries: Queries;
  readonly authorizationServer: AuthorizationServer;
  readonly webhooks: Webhooks;
  readonly mail: Mail;
  readonly mailContent: MailContent;
  readonly apiKeyUsage: ApiKeyUsage;
  /** Pending changes that the log may not hold yet. */
  readonly changing: Changing;
  readonly maintenance: ReturnType<typeof createMaintenance>;
  /** The id of the log. */
  readonly logId: string;
  readonly audit: Audit;
  readonly facts: StoreFacts;
  /** The processes and the store, for an operator. */
  readonly status: () => Promise<ServiceStatus>;
  readonly metrics: Metrics;
  /** Reseals the records under the first secret key. @returns the number of changed records */
  readonly resealRecords: (onProgress: (resealed: number) => void) => Promise<number>;
  /** Copies all data held about a subject. */
  readonly copyOf: CopyOf;
};

/** Opens the configured engines and assembles the service on them. @throws as {@link openBase} */
export async function openCore(config: Config, logger: Logger, options: CoreOptions = {}): Promise<Core> {
  const base = await openBase(config, logger, options);
  try {
    return await assemble(base, options);
  } catch (error) {
    await base.close();
    throw error;
  }
}

/** Limits the mail that a user can send to addresses of others, by changing the own one or that of an account. */
const ADDRESSES_PER_HOUR = { max: 5, windowMs: 60 * 60_000 };
/** Limits the mail that the Managers of an account can send to addresses of others, by withdrawing and inviting again. */
const INVITATIONS_PER_DAY = { max: 100, windowMs: 24 * 60 * 60_000 };

async function assemble(base: Base, { kind, metrics = NO_METRICS }: CoreOptions): Promise<Core> {
  const { config, logger, clock, events, documents, identity, projector } = base;
  const { readModels } = projector;
  const personalData = createPersonalData({ documents, secretKey: config.secretKey, clock });

  // What changes the log.
  const credentials = await openCredentials(documents);
  const commandsAt = (at: Clock, waitMs?: number, pendingLimit?: number) =>
    createCommands({
      events,
      documents,
      readModels,
      personalData,
      credentials,
      clock: at,
      ...defined({ readModelWaitMs: waitMs }),
      settings: { ...config, pendingLimit },
      observer: metrics,
      makeSigningSecret: newSigningSecret,
      urlProblem: (url) => checkWebhookUrl(url, { allowPrivate: config.webhooksAllowPrivate }),
    });
  const readModelWaitMs = kind === 'tool' ? TOOL_READ_MODEL_WAIT_MS : undefined;
  const mail: Mail = await createMail({
    events,
    documents,
    heartbeats: base.heartbeats,
    readModels,
    config,
    clock,
    logger,
    recipients: { ...MAILED, of: (event) => mailContent.recipientsOf(event) },
    compose: (each, others) => mailContent.compose(each, others),
    reminders: (now) => mailContent.reminders(now),
    clockProblem: base.clockWatch.check,
    onOutcome: metrics.mail,
  });
  const preferences = await createMailPreferences({ documents });
  const served = await commandsAt(clock, readModelWaitMs, config.pendingLimit);
  const log = served.membership;
  const checkedFiles = await openCheckedFiles({ documents, personalData, clock });
  const revocation = await createRevocation({ documents, log, clock, logger });
  const invitationRecords = await openInvitationRecords({
    documents,
    log,
    clock,
    logger,
    users: await openUserLookups(documents),
  });
  const endings = createEndings({
    revocation,
    calendarFeeds: served.calendarFeeds,
    preferences,
    checkedFiles,
    mail,
    sessions: { deleteAllOf: (userId) => deleteSessionsOf(documents, userId) },
    invitations: invitationRecords,
  });
  const commands: Commands = {
    ...served,
    personalData: {
      async forget(subject, context) {
        const outcome = await served.personalData.forget(subject, context);
        await endings.ofTexts(subject, context);
        return outcome;
      },
    },
  };
  const users = await createUsers({ documents, log, clock, logger, endings });

  const counts = await openAttemptCounts({ documents, secretKey: config.secretKey, clock });
  const links = createLinks({ secretKey: config.secretKey, clock });
  const linked = { users, links, mails: mail, clock, publicUrl: config.publicUrl };
  const passwordReset = createPasswordReset({ ...linked, logger });
  const addressConfirmation = createAddressConfirmation({
    ...linked,
    countChange: (userId) => counts.add(['address', userId], ADDRESSES_PER_HOUR),
  });
  const contacts = await createAccountContacts({ documents, personalData, clock });
  const contactConfirmation = createContactConfirmation({
    ...linked,
    contacts,
    countChange: (account) => counts.add(['contact', account], ADDRESSES_PER_HOUR),
  });
  const invitations = createInvitations({
    ...linked,
    records: invitationRecords,
    countInvitation: (account) => counts.add(['invitations', account], INVITATIONS_PER_DAY),
  });

  // What reads it.
  const queries = createQueries({
    events,
    readModels,
    personalData,
    clock,
    directory: {
      user: async (id) => (await users.get(id))?.email,
      client: (id) => authorizationServer.clients.nameOf(id),
    },
  });

  const authorizationServer: AuthorizationServer = await createAuthorizationServer({
    publicUrl: config.publicUrl,
    secretKey: config.secretKey,
    documents,
    revocation,
    users,
    log,
    clock,
    logger,
    accountName: queries.accounts.name,
    clientDocuments: {
      allowPrivate: config.webhooksAllowPrivate,
      // Any stranger can cause one.
      onForbidden: (refused) =>
        logger.debug(refused, 'The document of an OAuth client has an address that is not public'),
    },
    limits: { registrations: config.registrationsPerHour, clientsPerAccount: config.clientsPerAccount },
    isLocal: isLoopbackHost(config.host) && isLoopbackHost(new URL(config.publicUrl).hostname),
  });
  await identity.confirm();
  const logId = await identity.logId();

  const webhooks = await createWebhooks({
    ...base,
    readModels,
    personalData,
    credentials,
    commands: commands.webhooks,
    isConnected: authorizationServer.connectedApps.isConnected,
    onAttempt: metrics.deliveryAttempt,
  });

  const mailContent = await createMailContent({
    readModels,
    personalData,
    queries,
    users,
    preferences,
    contacts,
    webhooks,
    clock,
    unsubscribing: createUnsubscribing({ links, preferences, membersOf: users.membersOf, publicUrl: config.publicUrl }),
    publicUrl: config.publicUrl,
    logId,
    sender: config.smtp?.from ?? INBOX_SENDER,
    membersOf: users.membersOf,
    links: composeLinks({
      users,
      passwordReset,
      addressConfirmation,
      invitations,
      publicUrl: config.publicUrl,
      clock,
      contacts,
      contactConfirmation,
      accounts: queries.accounts,
    }),
  });

  const audit = createAudit({ ...base, ...config, settings: config, logId: identity.logId });
  const facts = createStoreFacts({ documents, webhooks, mail, audit });

  return {
    ...base,
    audit,
    metrics,
    facts,
    logId,
    status: () => readServiceStatus({ ...base, readModels: readModels.status, webhooks, facts }),
    personalData,
    credentials,
    commands,
    commandsAt,
    users,
    passwordReset,
    addressConfirmation,
    contactConfirmation,
    invitations,
    checkedFiles,
    queries,
    authorizationServer,
    webhooks,
    mail,
    mailContent,
    apiKeyUsage: await createApiKeyUsage({ documents, clock, logger }),
    changing: [users, authorizationServer.clients, revocation, invitationRecords],
    maintenance: createMaintenance(base),
    // Imported on use, to save startup time.
    async resealRecords(onProgress) {
      const { resealRecords } = await import('./store-identity/reseal.ts');
      return resealRecords(documents, config.secretKey, onProgress);
    },
    async copyOf(subject, onProgress) {
      const { createCopyOf } = await import('./personal-data/copies.ts');
      const readers = {
        webhookDeliveries: webhooks.getDelivery,
        accountContacts: contacts.readable,
        pendingContacts: contacts.readablePending,
        mailInbox: mail.getKept,
        consoleFiles: checkedFiles.readable,
      };
      return createCopyOf({ events, documents, personalData, readers })(subject, onProgress);
    },
  };
}

type OnProgress = (progress: { readonly done: number; readonly total?: number }) => void;

/** An operator's tasks around read models, whether or not the service is running. Imported on use, to save startup time. */
function createMaintenance(base: Base) {
  const deps = { ...base, projections, openScratch: openSqliteDocuments };
  return {
    readModels: () => listReadModels(deps),
    rebuild: async (onProgress: OnProgress) =>
      (await import('./projector/rebuild.ts')).rebuild({ ...deps, onProgress }),
    verify: async (onProgress: OnProgress) => (await import('./projector/verify.ts')).verify({ ...deps, onProgress }),
  };
}
