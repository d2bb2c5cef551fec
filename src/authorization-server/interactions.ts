import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type Provider from 'oidc-provider';
import type { InteractionResults } from 'oidc-provider';
import type { Resources } from '../auth/resources.ts';
import { isKnownScope } from '../auth/scopes.ts';
import { type IsSuspended, SUSPENDED } from '../auth/suspension.ts';
import type { Users } from '../auth/users.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { tryAgainIn } from '../html/formats.ts';
import { sendPage } from '../html/layout.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { derivedKey } from '../secrets/derived-key.ts';
import { purposes } from '../secrets/purposes.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { CONSOLE_CLIENT_ID } from './console-client.ts';
import { accountOfGrant, newGrantId } from './grant-id.ts';
import { COOKIE, oidcProvider } from './oidc-provider.ts';
import { type App, appOf, consentPage, errorPage, type OfferedSignIns, signInPage } from './pages.ts';
import { PATHS } from './paths.ts';
import { formTarget } from './redirect-uri.ts';
import type { SignInAttempts } from './sign-in-attempts.ts';
import { NO_CLIENT_DOCUMENT } from './unavailable.ts';

/** What the pages of sign-in and consent need. */
export type PageDeps = {
  readonly secretKey: SecretKey;
  readonly issuer: string;
  readonly resources: Resources;
  readonly users: Users;
  readonly isSuspended: IsSuspended;
  /** Keeps the metadata of a client that a user has allowed. */
  readonly keepClient: (clientId: string) => Promise<unknown>;
  /** The display name of an account. */
  readonly accountName: (account: Account) => Promise<string>;
  readonly attempts: SignInAttempts;
  /** Whether brands can sign up. */
  readonly takesSignUps: boolean;
  /** The sign-ins to offer to a browser; undefined unless it is on this machine. */
  readonly offeredTo: (request: FastifyRequest) => OfferedSignIns | undefined;
};

export type InteractionDeps = PageDeps & {
  readonly provider: () => Promise<Provider>;
  /** Forms of each kind per network and minute. */
  readonly perMinute: number;
};

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;
type Answer = { readonly status: number; readonly page: string };

/**
 * The sign-in and consent pages. A page belongs to one interaction: the id in its path must match the cookie that oidc-provider
 * set for that path, so that a link or form made elsewhere does nothing.
 */
export function registerInteractions(app: FastifyInstance, deps: InteractionDeps): void {
  const config = { rateLimit: { max: deps.perMinute, timeWindow: '1 minute' } };
  const formKey = derivedKey(deps.secretKey, purposes.interactionForms);
  const formTokenOf = (uid: string) => createHmac('sha256', formKey).update(uid).digest('base64url');

  app.get(`${PATHS.interaction}/:uid`, async (request, reply) => {
    const interaction = await interactionOf(deps, request, reply);
    if (interaction === undefined) return send(reply, expired());
    const form = formOf(interaction);
    if (interaction.prompt.name === 'login')
      return send(reply, await signIn(deps, interaction, form, request), interaction);
    return send(reply, await consent(deps, interaction, form), interaction);
  });

  const formOf = ({ uid }: Interaction): Form => ({
    action: `${PATHS.interaction}/${uid}`,
    formToken: formTokenOf(uid),
  });

  /** Answers a form from another site, or of a browser that has not begun the interaction, before its body is read. */
  async function checkBrowser(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const { origin } = request.headers;
    if (origin !== undefined && origin !== deps.issuer) return send(reply, forged());
    return (await interactionOf(deps, request, reply)) === undefined ? send(reply, expired()) : undefined;
  }

  /** Handles a form. Refuses it unless it came from our page and its interaction is waiting for `prompt`. */
  const onForm = (
    path: string,
    prompt: 'login' | 'consent' | 'any',
    answer: (interaction: Interaction, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
  ) =>
    app.post(`${PATHS.interaction}/:uid/${path}`, { config, preParsing: checkBrowser }, async (request, reply) => {
      if (!hasToken(request, formTokenOf(uidOf(request)))) return send(reply, forged());
      const interaction = await interactionOf(deps, request, reply);
      if (interaction === undefined) return send(reply, expired());
      if (prompt !== 'any' && interaction.prompt.name !== prompt) return send(reply, expired());
      return answer(interaction, request, reply);
    });

  onForm('sign-in', 'login', async (interaction, request, reply) => {
    const email = formFields(request).get('email') ?? '';
    const refuse = async (status: number, problem: string) =>
      send(
        reply,
        { ...(await signIn(deps, interaction, formOf(interaction), request, { problem, email })), status },
        interaction,
      );
    const wait = await deps.attempts.begin(email, request.ip);
    if (wait > 0) {
      reply.header('retry-after', Math.ceil(wait / 1_000));
      return refuse(429, `Too many wrong passwords. ${tryAgainIn(wait)}`);
    }
    const password = formFields(request).get('password') ?? '';
    const user = await deps.users.verifyPassword(email, password, request.ip);
    if (user === undefined) return refuse(422, 'Wrong e-mail or password.');
    await deps.attempts.succeeded(email, request.ip);
    request.sender = { credential: { kind: 'user', id: user.id } };
    const isStill = async () => (await deps.users.get(user.id))?.passwordChangedAt === user.passwordChangedAt;
    return finish(deps, request, reply, { login: { accountId: user.id, amr: ['pwd'] } }, isStill);
  });

  onForm('consent', 'consent', async (interaction, request, reply) => {
    const user = await deps.users.get(interaction.session?.accountId ?? '');
    const chosen = formFields(request).get('account');
    const account = user?.memberships.find((own) => accountKey(own.account) === chosen)?.account;
    if (user === undefined || account === undefined)
      return send(
        reply,
        await consent(deps, interaction, formOf(interaction), { problem: 'Choose an account.' }),
        interaction,
      );
    if (await deps.isSuspended(account)) {
      const page = await consent(deps, interaction, formOf(interaction), { problem: SUSPENDED.details });
      return send(reply, { ...page, status: 403 }, interaction);
    }
    request.sender = { account, credential: { kind: 'user', id: user.id } };
    const grantId = await saveGrant(deps, interaction, user.id, account);
    return finish(deps, request, reply, { consent: { grantId } });
  });

  onForm('cancel', 'any', (_interaction, request, reply) =>
    finish(deps, request, reply, { error: 'access_denied', error_description: 'The user denied access' }),
  );
}

/** Where the forms of a page are sent, and the token that proves that they came from it. */
type Form = { readonly action: string; readonly formToken: string };
type Typed = { readonly problem?: string; readonly email?: string };

async function signIn(
  deps: InteractionDeps,
  interaction: Interaction,
  form: Form,
  request: FastifyRequest,
  typed: Typed = {},
): Promise<Answer> {
  const { client_id: clientId, login_hint: hint } = interaction.params;
  const isConsole = clientId === CONSOLE_CLIENT_ID;
  const page = signInPage({
    ...form,
    app: isConsole ? undefined : await requestingApp(deps, interaction),
    isFirst: isConsole && !(await deps.users.exist()),
    takesSignUps: isConsole && deps.takesSignUps,
    offered: isConsole ? deps.offeredTo(request) : undefined,
    ...defined({ problem: typed.problem, email: typed.email ?? (typeof hint === 'string' ? hint : undefined) }),
  });
  return { status: 200, page };
}

async function consent(
  deps: InteractionDeps,
  interaction: Interaction,
  form: Form,
  { problem }: Typed = {},
): Promise<Answer> {
  const user = await deps.users.get(interaction.session?.accountId ?? '');
  if (user === undefined) return expired();
  const accounts = user.memberships.map(async ({ account, role }) => ({
    account,
    role,
    name: await deps.accountName(account),
  }));
  const page = consentPage({
    ...form,
    app: await requestingApp(deps, interaction),
    scopes: requestedScopes(interaction),
    user: user.email,
    otherUser: signInAgain(interaction),
    accounts: await Promise.all(accounts),
    ...defined({ problem }),
  });
  return { status: problem === undefined ? 200 : 422, page };
}

const expired = (): Answer => ({
  status: 400,
  page: errorPage('This sign-in has expired, or was started in another browser.'),
});
const forged = (): Answer => ({ status: 403, page: errorPage('This form did not come from this site.') });

const send = (reply: FastifyReply, { status, page }: Answer, interaction?: Interaction) =>
  sendPage(reply, status, page, formTarget(interaction?.params.redirect_uri));

async function requestingApp({ provider }: InteractionDeps, { params }: Interaction): Promise<App> {
  const id = text(params.client_id);
  const client = await (await provider()).Client.find(id).catch(noDocument);
  const { clientName: name, policyUri, tosUri } = client ?? {};
  return appOf({ id, name, policyUri, tosUri }, text(params.redirect_uri));
}

/** The client had a usable metadata document when the interaction began, so this reports an outage, not an invalid client. */
async function noDocument(error: unknown): Promise<never> {
  const { errors } = await oidcProvider();
  if (!(error instanceof errors.InvalidClient)) throw error;
  throw new Unavailable(error.message, error, NO_CLIENT_DOCUMENT);
}

/** The interaction of a request; undefined if it has ended or belongs to another browser. */
async function interactionOf(
  { provider }: InteractionDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Interaction | undefined> {
  try {
    const interaction = await (await provider()).interactionDetails(request.raw, reply.raw);
    return interaction.uid === uidOf(request) ? interaction : undefined;
  } catch (error) {
    const { errors } = await oidcProvider();
    if (error instanceof errors.SessionNotFound) return undefined;
    throw error;
  }
}

function hasToken(request: FastifyRequest, token: string): boolean {
  const given = Buffer.from(formFields(request).get('form_token') ?? '');
  const expected = Buffer.from(token);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

async function finish(
  { provider }: InteractionDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  result: InteractionResults,
  isStill: () => Promise<boolean> = async () => true,
) {
  const current = await provider();
  const next = await current.interactionResult(request.raw, reply.raw, result);
  // The password has changed while it was compared. A later change finds the stored result, and ends it.
  if (!(await isStill())) {
    await (await current.interactionDetails(request.raw, reply.raw)).destroy();
    return send(reply, expired());
  }
  // Otherwise each sign-in would leave a cookie for half an hour, and some clients keep only twenty of a site.
  const path = `${PATHS.interaction}/${uidOf(request)}`;
  const { cookies } = current.createContext(request.raw, reply.raw);
  cookies.set(current.cookieName('interaction'), null, { ...COOKIE, path });
  return reply.redirect(next, 303);
}

/** Records what the user allowed. A grant is bound to one account: another account gets another grant (docs/decisions/accounts.md). */
async function saveGrant(deps: InteractionDeps, interaction: Interaction, userId: string, account: Account) {
  const provider = await deps.provider();
  const clientId = text(interaction.params.client_id);
  const previous = interaction.grantId === undefined ? undefined : await provider.Grant.find(interaction.grantId);
  const reused = previous !== undefined && accountOfGrant(previous.jti) === accountKey(account) ? previous : undefined;
  const grant = reused ?? new provider.Grant({ accountId: userId, clientId });
  if (reused === undefined) grant.jti = newGrantId(account);
  const scopes = requestedScopes(interaction);
  grant.addOIDCScope(scopes);
  const resource = deps.resources.named(text(interaction.params.resource));
  if (resource !== undefined) {
    const available = new Set(resource.scope.split(' '));
    grant.addResourceScope(
      resource.uri,
      scopes.filter((scope) => available.has(scope)),
    );
  }
  await deps.keepClient(clientId);
  return grant.save();
}

/** The URL at which the same request starts over, with another user. */
function signInAgain({ params }: Interaction): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (typeof value === 'string') query.set(name, value);
  query.set('prompt', 'login consent');
  return `${PATHS.authorization}?${query}`;
}

const formFields = (request: FastifyRequest) =>
  new URLSearchParams(Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '');
const text = (value: unknown) => (typeof value === 'string' ? value : '');
const uidOf = ({ params }: FastifyRequest) =>
  typeof params === 'object' && params !== null && 'uid' in params ? text(params.uid) : '';

const requestedScopes = ({ params }: Interaction) => text(params.scope).split(' ').filter(isKnownScope);
