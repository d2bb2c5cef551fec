import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { createAccessTokens } from '../auth/access-tokens.ts';
import { resourcesOf } from '../auth/resources.ts';
import { createSigningKeys } from '../auth/signing-keys.ts';
import type { IsSuspended } from '../auth/suspension.ts';
import type { MembershipLog } from '../auth/unlogged-changes.ts';
import type { Users } from '../auth/users.ts';
import type { DocumentStore, DocumentStoreOperations } from '../document-store/document-store.ts';
import { type Account, accountInWords } from '../domain/account.ts';
import { loadOnce } from '../event-loop/load-once.ts';
import { isLocalRequest } from '../http/local-request.ts';
import type { GuardOptions } from '../outbound/address-guard.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { openAttemptCounts } from './attempt-counts.ts';
import type { ClientDocumentDeps } from './client-documents.ts';
import { createClients } from './clients.ts';
import { createConnectedApps } from './connected-apps.ts';
import { openDocumentCopies } from './document-copies.ts';
import { withOAuthErrors } from './oauth-errors.ts';
import { createOidcAdapter } from './oidc-adapter.ts';
import type { OfferedSignIns } from './pages.ts';
import { createRequestRewriting } from './request-rewriting.ts';
import type { Revocation } from './revocation.ts';
import type { CurrentProvider, Limits } from './routes.ts';
import { createSignInAttempts } from './sign-in-attempts.ts';

export type AuthorizationServer = Awaited<ReturnType<typeof createAuthorizationServer>>;

const LIMITS: Limits = {
  perEmail: 10,
  perNetwork: 50,
  registrations: 120,
  authorizations: 300,
  tokenRequests: 600,
  documentFetches: 30,
  clientsPerAccount: 50,
};

/** The OAuth 2.1 / OpenID Connect authorization server: its routes, and its interface for the console, the CLI and the resource servers. */
export async function createAuthorizationServer(deps: {
  /** The issuer, and the origin of the REST API and the MCP server. */
  publicUrl: string;
  secretKey: SecretKey;
  documents: DocumentStore & Pick<DocumentStoreOperations, 'now'>;
  revocation: Revocation;
  users: Users;
  log: MembershipLog;
  /** Default: no account is. */
  isSuspended?: IsSuspended;
  clock: Clock;
  logger: Pick<Logger, 'error'>;
  /** The display name of an account. */
  accountName?: (account: Account) => Promise<string | undefined>;
  limits?: Partial<Limits>;
  /** Whether brands can sign up, which the sign-in page of the console then offers. Default: false. */
  takesSignUps?: boolean;
  /** Whether only this machine can reach the service, so that its registrations need no limit. Default: false. */
  isLocal?: boolean;
  /** The addresses from which client metadata documents may be fetched. Default: public ones only. */
  clientDocuments?: GuardOptions;
}) {
  const { publicUrl: issuer, secretKey, documents, revocation, users, clock, isSuspended = NONE_IS } = deps;
  const limits = { ...LIMITS, ...deps.limits };
  const resources = resourcesOf(issuer);
  const signingKeys = await createSigningKeys({ documents, secretKey, clock });
  // Fails now rather than at the first sign-in if SECRET_KEY is not the one that sealed the keys.
  await signingKeys.check();
  const oidcAdapter = await createOidcAdapter({ documents, revocation, secretKey, clock });
  const clients = await createClients({ ...deps, clientsPerAccount: limits.clientsPerAccount });
  const counts = await openAttemptCounts({ documents, secretKey, clock });
  const attempts = createSignInAttempts({ counts, limits });
  const accessTokens = createAccessTokens({
    issuer,
    signingKeys,
    issuedTokens: oidcAdapter,
    currentRoles: users,
    secretKey,
    clock: systemClock(),
  });
  const rewrite = createRequestRewriting({ issuer, resources, accessTokens });

  const endWithSession: ((cookie: string) => Promise<void>)[] = [];
  const signedOut = async (cookie: string) => {
    for (const end of endWithSession) await end(cookie);
  };

  let offered: OfferedSignIns | undefined;
  const isLocal = deps.isLocal ?? false;

  let built: (CurrentProvider & { readonly keys: string }) | undefined;
  const copies = await openDocumentCopies({ documents, clock });
  const loadedProvider = loadOnce(() =>
    loadProvider({
      guard: { allowPrivate: false, ...deps.clientDocuments },
      copies,
      counts,
      perHost: limits.documentFetches,
    }),
  );
  /** oidc-provider's keys are fixed at construction, so a changed key set needs a new provider. */
  async function current(): Promise<CurrentProvider> {
    const keySet = await signingKeys.current();
    const { buildProvider, clientDocument } = await loadedProvider();
    // Checked after the last await, so that concurrent first callers build only one provider.
    if (built?.keys === keySet.id) return built;
    const provider = buildProvider(
      {
        issuer,
        secretKey,
        resources,
        isSuspended,
        clientDocument,
        isAllowed: async (id) => (await clients.isAllowed(id)) || copies.isAllowed(id),
        signedOut,
        users: withOAuthErrors(users),
        clients: { ...clients, adapter: withOAuthErrors(clients.adapter) },
        oidcAdapter: { ...oidcAdapter, adapter: (model) => withOAuthErrors(oidcAdapter.adapter(model)) },
      },
      keySet,
    );
    built = { keys: keySet.id, provider, handle: provider.callback() };
    return built;
  }

  const routes: FastifyPluginAsync = async (app) => {
    // Imported on use: the command line has no routes.
    const { authorizationRoutes } = await import('./routes.ts');
    await app.register(
      authorizationRoutes({
        issuer,
        secretKey,
        resources,
        users,
        isSuspended,
        limits,
        isLocal,
        takesSignUps: deps.takesSignUps ?? false,
        offeredTo: (request) => (isLocal && isLocalRequest(request) ? offered : undefined),
        counts,
        attempts,
        rewrite,
        current,
        keepClient: (clientId) => Promise.all([clients.keep(clientId), copies.keep(clientId)]),
        accountName: async (account) => (await deps.accountName?.(account)) ?? accountInWords(account),
      }),
    );
  };

  return {
    /** All paths of the authorization server (docs/guides/oauth.md), including its pages. */
    routes,
    /** Signs out the browser that sent the request, without confirmation. Connected apps stay connected. */
    async endSession({ headers }: FastifyRequest, { raw }: FastifyReply): Promise<void> {
      const { endSession } = await loadedProvider();
      const { provider } = await current();
      // Rewritten, so that cookie attributes follow the issuer's protocol and not a proxy's headers.
      const body = Buffer.alloc(0);
      await endSession(provider, await rewrite({ method: 'GET', url: '/', headers, body }), raw);
    },
    /** Calls `end` with the `Cookie` header of a browser whose user signs out here, so that the console ends its session too. */
    onSignOut: (end: (cookie: string) => Promise<void>): void => void endWithSession.push(end),
    resources,
    accessTokens,
    clients,
    connectedApps: createConnectedApps({ oidcAdapter, clients, resources, revocation }),
    signingKeys,
    /** Attempts to prove a password, in the console, too. */
    signInAttempts: attempts,
    /** Requests for a link to a new password. The limits are those of a sign-in. */
    resetAttempts: createSignInAttempts({ counts, limits, what: 'password reset' }),
    /** Ends the user's sessions here, so that every browser asks for the password again. */
    endSessionsOf: revocation.endSessionsOf,
    /** Offers sign-ins on the sign-in page of the console, to browsers on this machine if no other can reach the service. */
    offerSignIns(signIns: OfferedSignIns): void {
      offered = signIns;
    },
  };
}

const NONE_IS: IsSuspended = async () => false;

/** Parts of oidc-provider, each after those that it imports. All at once would hold the thread for 120 ms. */
const PARTS = ['jose', ...['models/index', 'actions/index', 'provider'].map((part) => `oidc-provider/lib/${part}.js`)];
const require = createRequire(import.meta.url);

/** Loads the modules that depend on oidc-provider, on first use. */
async function loadProvider(clientDocuments: ClientDocumentDeps) {
  for (const part of PARTS) {
    require(part);
    await nextTurn();
  }
  const { buildProvider, endSession } = await import('./provider.ts');
  const { createClientDocuments } = await import('./client-documents.ts');
  return { buildProvider, endSession, clientDocument: createClientDocuments(clientDocuments) };
}
