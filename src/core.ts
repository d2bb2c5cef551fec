import type { Logger } from 'pino';
import { projections } from '../projections/index.ts';
import { createAudit } from './audit/audit.ts';
import { createApiKeyUsage } from './auth/api-key-usage.ts';
import { createAuthorizationServer } from './authorization-server/authorization-server.ts';
import { type Base, type BaseOptions, openBase } from './base.ts';
import { type Commands, createCommands } from './commands/commands.ts';
import type { Config } from './config.ts';
import { openCredentials } from './credentials/credentials.ts';
import { defined } from './domain/defined.ts';
import { accountOfSubject, type Subject } from './domain/personal-text.ts';
import { openSqliteDocuments } from './engines.ts';
import { isLoopbackHost } from './http/loopback.ts';
import { composeLinks } from './mail/compose/links.ts';
import { createMail } from './mail/mail.ts';
import { createMailContent, INBOX_SENDER } from './mail/mail-content.ts';
import { createUnsubscribing } from './mail/unsubscribing.ts';
import { type Metrics, NO_METRICS } from './monitoring/metrics.ts';
import { readServiceStatus } from './monitoring/service-status.ts';
import { checkWebhookUrl } from './outbound/public-address.ts';
import { openPeople } from './people.ts';
import { createPersonalData } from './personal-data/personal-data.ts';
import { openPhotos } from './photos/photos.ts';
import { listReadModels } from './projector/listing.ts';
import { createAccountQueries } from './queries/accounts.ts';
import { createQueries } from './queries/queries.ts';
import type { Clock } from './runtime/clock.ts';
import { newSigningSecret } from './webhooks/send/signature.ts';
import { createWebhooks } from './webhooks/webhooks.ts';

/** How long an operator's command waits until the read models show its own change. Another one may first have to release their leases. */
const TOOL_READ_MODEL_WAIT_MS = 10_000;

export type CoreOptions = BaseOptions & {
  /** Counts what this process does. Default: nothing does. */
  readonly metrics?: Metrics;
};

/** The assembled service before anything runs. The command line uses it beside a running service. */
export type Core = Awaited<ReturnType<typeof assemble>>;

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

/** Makes each part after those that it uses. */
async function assemble(base: Base, { kind, metrics = NO_METRICS }: CoreOptions) {
  const { config, logger, clock, events, documents, heartbeats, identity, projector } = base;
  const { secretKey, publicUrl } = config;
  const { readModels } = projector;

  const personalData = createPersonalData({ documents, secretKey, clock });
  const credentials = await openCredentials(documents);
  const { isSuspended } = credentials;
  const photos = await openPhotos({ documents, clock });
  const commandsAt = (at: Clock, waitMs?: number, pendingLimit?: number) =>
    createCommands({
      events,
      documents,
      readModels,
      personalData,
      credentials,
      photos,
      clock: at,
      ...defined({ readModelWaitMs: waitMs }),
      settings: { ...config, pendingLimit },
      observer: metrics,
      makeSigningSecret: newSigningSecret,
      urlProblem: (url) => checkWebhookUrl(url, { allowPrivate: config.webhooksAllowPrivate }),
    });
  const decided = await commandsAt(clock, kind === 'tool' ? TOOL_READ_MODEL_WAIT_MS : undefined, config.pendingLimit);
  const mail = await createMail({
    events,
    documents,
    heartbeats,
    readModels,
    config,
    clock,
    logger,
    clockProblem: base.clockWatch.check,
    onOutcome: metrics.mail,
  });
  const people = await openPeople(base, { commands: decided, personalData, mail, isSuspended });
  const { users, revocation, contacts, checkedFiles } = people;
  const commands: Commands = {
    ...decided,
    personalData: {
      async forget(subject, context) {
        const outcome = await decided.personalData.forget(subject, context);
        const account = accountOfSubject(subject);
        if (account?.kind === 'Community') await decided.photos.removeAllOf(account.id, context);
        await people.endings.ofTexts(subject, context);
        return outcome;
      },
    },
  };
  const authorizationServer = await createAuthorizationServer({
    publicUrl,
    secretKey,
    documents,
    revocation,
    users,
    log: commands.membership,
    isSuspended,
    clock,
    logger,
    accountName: createAccountQueries({ readModels }).name,
    clientDocuments: {
      allowPrivate: config.webhooksAllowPrivate,
      // Any stranger can cause one.
      onForbidden: (refused) =>
        logger.debug(refused, 'The document of an OAuth client has an address that is not public'),
    },
    limits: { registrations: config.registrationsPerHour, clientsPerAccount: config.clientsPerAccount },
    takesSignUps: config.signUp !== undefined,
    isLocal: isLoopbackHost(config.host) && isLoopbackHost(new URL(publicUrl).hostname),
  });
  await identity.confirm();
  const logId = await identity.logId();

  const queries = createQueries({
    events,
    readModels,
    personalData,
    clock,
    directory: { user: async (id) => (await users.get(id))?.email, client: authorizationServer.clients.nameOf },
  });
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
    ...people,
    readModels,
    personalData,
    queries,
    webhooks,
    clock,
    unsubscribing: createUnsubscribing({ ...people, membersOf: users.membersOf, publicUrl }),
    publicUrl,
    logId,
    sender: config.smtp?.from ?? INBOX_SENDER,
    membersOf: users.membersOf,
    links: composeLinks({ ...people, publicUrl, clock, accounts: queries.accounts }),
  });
  const audit = createAudit({ ...base, ...config, settings: config, logId: identity.logId });

  return {
    ...base,
    audit,
    metrics,
    /** The id of the log. */
    logId,
    /** The processes and the store, for an operator. */
    status: () => readServiceStatus({ ...base, readModels: readModels.status, webhooks, mail, audit }),
    personalData,
    credentials,
    photos,
    commands,
    /** Commands for demo data, with another clock, a longer wait for read models and no limit of requests; see {@link createCommands}. */
    commandsAt: (at: Clock, readModelWaitMs?: number) => commandsAt(at, readModelWaitMs),
    users,
    passwordReset: people.passwordReset,
    addressConfirmation: people.addressConfirmation,
    contactConfirmation: people.contactConfirmation,
    invitations: people.invitations,
    signUps: people.signUps,
    checkedFiles,
    queries,
    authorizationServer,
    webhooks,
    mail,
    mailContent,
    apiKeyUsage: await createApiKeyUsage({ documents, clock, logger }),
    /** Pending changes that the log may not hold yet. */
    changing: [users, authorizationServer.clients, revocation, people.invitationRecords, people.signUps],
    maintenance: createMaintenance(base),
    /** Reseals the records under the first secret key. @returns the number of changed records */
    async resealRecords(onProgress: (resealed: number) => void): Promise<number> {
      // Imported on use, to save startup time.
      const { resealRecords } = await import('./store-identity/reseal.ts');
      return resealRecords(documents, secretKey, onProgress);
    },
    /** Copies all data held about a subject. */
    async copyOf(subject: Subject, onProgress: (examined: number) => void) {
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
