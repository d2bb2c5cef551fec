import type { Logger } from 'pino';
import { projections } from '../projections/index.ts';
import { type Audit, createAudit } from './audit/audit.ts';
import { type ApiKeyUsage, createApiKeyUsage } from './auth/api-key-usage.ts';
import type { Changing } from './auth/change-follow-up.ts';
import { type AuthorizationServer, createAuthorizationServer } from './authorization-server/authorization-server.ts';
import type { Config } from './config.ts';
import { openSqliteDocuments } from './engines.ts';
import {
  type CommandParts,
  type Foundation,
  type FoundationOptions,
  openCommands,
  openFoundation,
} from './foundation.ts';
import type { CopyOf } from './personal-data/copies.ts';
import { createMaintenance, type Maintenance } from './projector/maintenance.ts';
import { createQueries, type Queries } from './queries/queries.ts';
import { createWebhooks, type Webhooks } from './webhooks/webhooks.ts';

/** The assembled service before anything runs. The command line uses it beside a running service. */
export type Core = Foundation &
  CommandParts & {
    readonly queries: Queries;
    readonly webhooks: Webhooks;
    readonly apiKeyUsage: ApiKeyUsage;
    readonly authorizationServer: AuthorizationServer;
    /** Pending changes that the log may not hold yet. */
    readonly changing: Changing;
    readonly maintenance: Maintenance;
    readonly audit: Audit;
    /** Reseals the records under the first secret key. @returns the number of changed records */
    readonly resealRecords: (onProgress: (resealed: number) => void) => Promise<number>;
    /** Copies all data held about a subject. */
    readonly copyOf: CopyOf;
  };

/**
 * Opens the configured engines and assembles the service on them.
 * @throws {UnusableStore} if a file is damaged, or log, records and read models do not belong together
 * @throws {ConfigError} if the secret key is not that of the store
 */
export async function openCore(config: Config, logger: Logger, options?: FoundationOptions): Promise<Core> {
  const foundation = await openFoundation(config, logger, options);
  try {
    return await assemble(foundation);
  } catch (error) {
    await foundation.close();
    throw error;
  }
}

async function assemble(foundation: Foundation): Promise<Core> {
  const { config, logger, clock, events, documents, identity, projector, personalData } = foundation;
  const { readModels } = projector;
  const commandParts = await openCommands(foundation);
  const { users, revocation } = commandParts;
  const queries = createQueries({
    ...{ events, readModels, personalData, clock },
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
    log: commandParts.commands.membership,
    clock,
    logger,
    accountName: queries.accounts.name,
    clientDocuments: { allowPrivate: config.webhooksAllowPrivate },
  });
  await identity.confirm();
  const webhooks = await createWebhooks({
    ...foundation,
    readModels,
    credentials: commandParts.credentials,
    commands: commandParts.commands.webhooks,
    isConnected: authorizationServer.connectedApps.isConnected,
  });
  return {
    ...foundation,
    ...commandParts,
    queries,
    webhooks,
    apiKeyUsage: await createApiKeyUsage({ documents, clock, logger }),
    authorizationServer,
    changing: [users, authorizationServer.clients, revocation],
    audit: createAudit({ ...foundation, ...config, settings: config, logId: identity.logId }),
    maintenance: createMaintenance({
      ...{ events, documents, projections },
      openScratch: openSqliteDocuments,
    }),
    resealRecords: async (onProgress) => {
      const { resealRecords } = await import('./store-identity/reseal.ts');
      return resealRecords(documents, config.secretKey, onProgress);
    },
    // Imported on use, to save startup time.
    copyOf: async (subject, onProgress) => {
      const { createCopyOf } = await import('./personal-data/copies.ts');
      const readers = { webhookDeliveries: webhooks.getDelivery };
      return createCopyOf({ events, documents, personalData, readers })(subject, onProgress);
    },
  };
}
