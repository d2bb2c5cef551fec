import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type Provider from 'oidc-provider';
import type { InteractionResults } from 'oidc-provider';
import type { Resources } from '../auth/resources.ts';
import { SCOPES } from '../auth/scopes.ts';
import type { Users } from '../auth/users.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { sendPage } from '../html/layout.ts';
import { derivedKey } from '../secrets/derived-key.ts';
import { purposes } from '../secrets/purposes.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { CONSOLE_CLIENT_ID } from './console-client.ts';
import { formTarget } from './form-target.ts';
import { accountOfGrant, newGrantId } from './grant-id.ts';
import { oidcProvider } from './oidc-provider.ts';
import { type App, appOf, consentPage, errorPage, signInPage } from './pages.ts';
import { PATHS } from './paths.ts';
import type { SignInAttempts } from './sign-in-attempts.ts';

export type InteractionDeps = {
  readonly provider: () => Promise<Provider>;
  readonly secretKey: SecretKey;
  readonly issuer: string;
  readonly resources: Resources;
  readonly users: Users;
  /** Keeps what is known of a client that a user has allowed. */
  readonly keepClient: (clientId: string) => Promise<unknown>;
  /** The display name of an account. */
  readonly accountName: (account: Account) => Promise<string>;
  readonly attempts: SignInAttempts;
};

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;
type Answer = { readonly status: number; readonly page: string };

/**
 * The sign-in and consent pages. A page belongs to one interaction: the id in its path must match the cookie that oidc-provider
 * set for that path, so that a link or form made elsewhere does nothing.
 */
export function registerInteractions(app: FastifyInstance, deps: InteractionDeps): void {
  const { secretKey, issuer, resources, users, keepClient, accountName, attempts } = deps;
  const formKey = derivedKey(secretKey, purposes.interactionForms);
  const formTokenOf = (uid: string) => createHmac('sha256', formKey).update(uid).digest('base64url');

  async function renderSignIn(interaction: Interaction, problem?: string, email?: string): Promise<string> {
    const isConsole = interaction.params.client_id === CONSOLE_CLIENT_ID;
    return signInPage({
      ...formPageOf(interaction),
      app: isConsole ? undefined : await askingApp(interaction),
      isFirst: isConsole && !(await users.exist()),
      ...defined({ problem }),
      ...(email === undefined ? hinted(interaction) : { email }),
    });
  }

  async function renderConsent(interaction: Interaction, problem?: string): Promise<Answer> {
    const user = await users.get(interaction.session?.accountId ?? '');
    if (user === undefined) return expired();
    const accounts = user.accounts.map(async (account) => ({ account, name: await accountName(account) }));
    const page = consentPage({
      ...formPageOf(interaction),
      app: await askingApp(interaction),
      scopes: requestedScopes(interaction),
      user: user.email,
      otherUser: signInAgain(interaction),
      accounts: await Promise.all(accounts),
      ...defined({ problem }),
    });
    return { status: problem === undefined ? 200 : 422, page };
  }

  const formPageOf = ({ uid }: Interaction) => ({
    action: `${PATHS.interaction}/${uid}`,
    formToken: formTokenOf(uid),
  });

  async function askingApp({ params }: Interaction): Promise<App> {
    const id = text(params.client_id);
    const client = await (await deps.provider()).Client.find(id);
    return appOf({ id, name: client?.clientName }, text(params.redirect_uri));
  }

  const expired = (): Answer => ({
    status: 400,
    page: errorPage('This sign-in has expired, or was started in another browser.'),
  });
  const forged = (): Answer => ({ status: 403, page: errorPage('This form did not come from this site.') });

  /** The interaction of a request; undefined if it has ended or belongs to another browser. */
  async function interactionOf(request: FastifyRequest, reply: FastifyReply): Promise<Interaction | undefined> {
    try {
      const interaction = await (await deps.provider()).interactionDetails(request.raw, reply.raw);
      return interaction.uid === uidOf(request) ? interaction : undefined;
    } catch (error) {
      const { errors } = await oidcProvider();
      if (error instanceof errors.SessionNotFound) return undefined;
      throw error;
    }
  }

  function isOurs(request: FastifyRequest): boolean {
    const { origin } = request.headers;
    if (origin !== undefined && origin !== issuer) return false;
    const given = Buffer.from(form(request).get('form_token') ?? '');
    const expected = Buffer.from(formTokenOf(uidOf(request)));
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  async function finish(request: FastifyRequest, reply: FastifyReply, result: InteractionResults) {
    const provider = await deps.provider();
    return reply.redirect(await provider.interactionResult(request.raw, reply.raw, result), 303);
  }

  const send = (reply: FastifyReply, { status, page }: Answer, interaction?: Interaction) =>
    sendPage(reply, status, page, formTarget(interaction?.params.redirect_uri));

  /** Handles a form. Refuses it unless it came from our page and its interaction is waiting for `prompt`. */
  const onForm = (
    path: string,
    prompt: 'login' | 'consent' | 'any',
    answer: (interaction: Interaction, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
  ) =>
    app.post(`${PATHS.interaction}/:uid/${path}`, async (request, reply) => {
      if (!isOurs(request)) return send(reply, forged());
      const interaction = await interactionOf(request, reply);
      if (interaction === undefined) return send(reply, expired());
      if (prompt !== 'any' && interaction.prompt.name !== prompt) return send(reply, expired());
      return answer(interaction, request, reply);
    });

  app.get(`${PATHS.interaction}/:uid`, async (request, reply) => {
    const interaction = await interactionOf(request, reply);
    if (interaction === undefined) return send(reply, expired());
    if (interaction.prompt.name === 'login')
      return send(reply, { status: 200, page: await renderSignIn(interaction) }, interaction);
    return send(reply, await renderConsent(interaction), interaction);
  });

  onForm('sign-in', 'login', async (interaction, request, reply) => {
    const email = form(request).get('email') ?? '';
    const password = form(request).get('password') ?? '';
    const wait = await attempts.begin(email, request.ip);
    if (wait > 0) {
      const minutes = Math.ceil(wait / 60_000);
      const problem = `Too many wrong passwords. Please try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`;
      reply.header('retry-after', Math.ceil(wait / 1_000));
      return send(reply, { status: 429, page: await renderSignIn(interaction, problem, email) }, interaction);
    }
    const user = await users.verifyPassword(email, password);
    if (user === undefined) {
      const page = await renderSignIn(interaction, 'Wrong e-mail or password.', email);
      return send(reply, { status: 422, page }, interaction);
    }
    await attempts.succeeded(email, request.ip);
    return finish(request, reply, { login: { accountId: user.id, amr: ['pwd'] } });
  });

  onForm('consent', 'consent', async (interaction, request, reply) => {
    const user = await users.get(interaction.session?.accountId ?? '');
    const chosen = form(request).get('account');
    const account = user?.accounts.find((held) => accountKey(held) === chosen);
    if (user === undefined || account === undefined)
      return send(reply, await renderConsent(interaction, 'Choose an account.'), interaction);

    const provider = await deps.provider();
    const clientId = text(interaction.params.client_id);
    const previous = interaction.grantId === undefined ? undefined : await provider.Grant.find(interaction.grantId);
    // A grant is bound to one account: choosing another account makes a new grant (docs/decisions/accounts.md).
    const reused =
      previous !== undefined && accountOfGrant(previous.jti) === accountKey(account) ? previous : undefined;
    const grant = reused ?? new provider.Grant({ accountId: user.id, clientId });
    if (reused === undefined) grant.jti = newGrantId(account);
    const scopes = requestedScopes(interaction);
    grant.addOIDCScope(scopes);
    const resource = resources.named(text(interaction.params.resource));
    if (resource !== undefined) {
      const available = resource.scope.split(' ');
      grant.addResourceScope(
        resource.uri,
        scopes.filter((scope) => available.includes(scope)),
      );
    }
    await keepClient(clientId);
    return finish(request, reply, { consent: { grantId: await grant.save() } });
  });

  onForm('cancel', 'any', (_interaction, request, reply) =>
    finish(request, reply, { error: 'access_denied', error_description: 'The user denied access' }),
  );

  function signInAgain({ params }: Interaction): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(params)) if (typeof value === 'string') query.set(name, value);
    query.set('prompt', 'login consent');
    return `${PATHS.authorization}?${query}`;
  }
}

const form = (request: FastifyRequest) =>
  new URLSearchParams(Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '');
const text = (value: unknown) => (typeof value === 'string' ? value : '');
const uidOf = ({ params }: FastifyRequest) =>
  typeof params === 'object' && params !== null && 'uid' in params ? text(params.uid) : '';

const hinted = ({ params }: Interaction) => (typeof params.login_hint === 'string' ? { email: params.login_hint } : {});

const KNOWN: ReadonlySet<string> = new Set(SCOPES);
const requestedScopes = ({ params }: Interaction) =>
  text(params.scope)
    .split(' ')
    .filter((scope) => KNOWN.has(scope));
