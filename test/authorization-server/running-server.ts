import { randomBytes } from 'node:crypto';
import Fastify from 'fastify';
import { readForwardedFor } from '../../src/api/incoming-requests.ts';
import type { User, Users } from '../../src/auth/users.ts';
import {
  type AuthorizationServer,
  createAuthorizationServer,
} from '../../src/authorization-server/authorization-server.ts';
import type { Limits } from '../../src/authorization-server/routes.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import type { Account } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import type { GuardOptions } from '../../src/outbound/address-guard.ts';
import { BY_OPERATOR, type createChangeLog, NO_LOGGER, openUsers } from '../auth/change-log.ts';
import { freePort } from '../free-port.ts';

export const BRAND: Account = { kind: 'Brand', id: brandId(7) };
const COMMUNITY: Account = { kind: 'Community', id: communityId(3) };
export const PASSWORD = 'correct horse battery';

export type RunningServer = {
  /** The issuer. */
  readonly url: string;
  readonly listensOn: string;
  /** Shifts the clock of this process by a number of milliseconds. */
  shift(milliseconds: number): void;
  readonly server: AuthorizationServer;
  readonly users: Users;
  /** The events about users, apps and clients that were appended to the log. */
  readonly told: ReturnType<typeof createChangeLog>['told'];
  /** Makes the log unavailable or available again. */
  logFails(isFailing: boolean): void;
  /** Finishes changes to users, grants and clients that were interrupted. */
  finishChanges(): Promise<void>;
  readonly user: User;
  close(): Promise<void>;
};

/** The authorization server alone, over HTTP, with one user who belongs to a brand and a community. */
export async function runServer(
  documents: OperatedDocumentStore,
  options: {
    limits?: Partial<Limits>;
    secretKey?: Buffer;
    url?: string;
    clientDocuments?: GuardOptions;
    /** Whether `X-Forwarded-For` gives the address of the caller. */
    trustProxy?: boolean;
  } = {},
): Promise<RunningServer> {
  const port = await freePort();
  const listensOn = `http://127.0.0.1:${port}`;
  const url = options.url ?? listensOn;
  let shifted = 0;
  const clock = () => Date.now() + shifted;
  const { log, revocation, users } = await openUsers(documents, clock);
  const server = await createAuthorizationServer({
    publicUrl: url,
    secretKey: options.secretKey ?? randomBytes(32),
    documents,
    revocation,
    users,
    log,
    logger: NO_LOGGER,
    clock,
    ...(options.clientDocuments && { clientDocuments: options.clientDocuments }),
    limits: { perNetwork: 1000, registrations: 1000, tokenRequests: 10_000, documentFetches: 1000, ...options.limits },
  });
  const app = Fastify({ trustProxy: options.trustProxy ?? false });
  readForwardedFor(app, app.log);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  await app.register(server.routes);
  await app.listen({ port, host: '127.0.0.1' });
  return {
    url,
    listensOn,
    shift: (milliseconds) => {
      shifted = milliseconds;
    },
    server,
    users,
    told: log.told,
    logFails: log.fails,
    async finishChanges() {
      for (const changing of [users, server.clients, revocation]) await changing.finishChanges();
    },
    user: await ada(users),
    close: () => app.close(),
  };
}

async function ada(users: Users): Promise<User> {
  const email = 'ada@example.com';
  const user =
    (await users.byEmail(email)) ??
    (await users.add({ email, password: PASSWORD, accounts: [BRAND, COMMUNITY] }, BY_OPERATOR));
  if (isRefusal(user)) throw new Error(user.details);
  return user;
}
