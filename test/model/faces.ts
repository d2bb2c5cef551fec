import type { LightMyRequestResponse } from 'fastify';
import type { CurrentSession } from '../../src/console/sessions/sessions.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { purposes } from '../../src/secrets/purposes.ts';
import { unseal } from '../../src/secrets/seal.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import type { Answer, Member, Party } from './model.ts';
import type { ModelledService } from './modelled-service.ts';

const HOUR_MS = 3_600_000;
/** Sessions of the console end 12 hours after their last use, and tokens need a refresh after one. */
const SESSION_MS = 11 * HOUR_MS;
const REFRESH_AFTER_MS = HOUR_MS - 60_000;
export const PASSWORD = 'correct horse battery';
const SCOPES = {
  api: 'openid offline_access service.api.read service.api.write',
  mcp: 'openid offline_access service.mcp service.api.read service.api.write',
};

/** Something with which a client or a person calls the service. */
export type Calling =
  | { readonly face: 'key'; readonly secret: string; readonly party: Party }
  | ConnectedApp
  | { readonly face: 'console'; readonly member: Member; session?: Session | undefined };
/** An app that acts for a member. Its name stays, though its tokens are refreshed. */
export type ConnectedApp = {
  readonly face: 'api' | 'mcp';
  readonly name: string;
  readonly member: Member;
  readonly app: TestApp;
  access: string;
  refresh: string;
  issuedAt: number;
};
type Session = { readonly cookie: string; readonly csrf: string; readonly startedAt: number };
type Fields = Readonly<Record<string, string | readonly string[]>>;

export const accountOf = ({ kind, id }: Party) =>
  kind === 'Brand' ? ({ kind, id: brandId(id) } as const) : ({ kind, id: communityId(id) } as const);

/** Makes calls on each face, and tells the answers in the words of the model. */
export class Faces {
  readonly #service: ModelledService;
  readonly #clock: () => number;
  readonly #look: (text: string) => void;

  /** @param deps.look called with the text of each answer */
  constructor(deps: { service: ModelledService; clock: () => number; look: (text: string) => void }) {
    this.#service = deps.service;
    this.#clock = deps.clock;
    this.#look = deps.look;
  }

  async rest(
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    secret: string,
    body?: object,
    idempotencyKey?: string,
  ): Promise<Answer> {
    const headers = {
      authorization: `Bearer ${secret}`,
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const payload = body === undefined ? {} : { payload: body };
    const answer = await this.#service.app.inject({ method, url: `/api/v1${url}`, headers, ...payload });
    const { statusCode: status, body: text } = answer;
    this.#look(text);
    const parsed = text === '' ? undefined : JSON.parse(text);
    if (status >= 400) return { status, error: parsed.error };
    return { status, ...(parsed !== undefined && { body: parsed }) };
  }

  /** @returns the error that the tool names, or else its output */
  async mcp(token: string, name: string, input: object): Promise<Answer> {
    const answer = await this.#service.app.inject({
      method: 'POST',
      url: '/mcp',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } },
    });
    const { statusCode: status, body: text } = answer;
    this.#look(text);
    if (status !== 200) return { status, error: status === 401 ? 'InvalidApiKey' : text };
    const [, data = text] = /^data: (.+)$/m.exec(text) ?? [];
    const { result, error } = JSON.parse(data);
    if (result === undefined)
      return { status: 400, error: error.message === `Tool ${name} not found` ? 'NoSuchTool' : error.message };
    if (!result.isError) return { status, body: result.structuredContent };
    const [code = ''] = result.content[0].text.split(':');
    return { status: 400, error: code };
  }

  /** Opens a page, or sends a form if there are fields. */
  async console(calling: Extract<Calling, { face: 'console' }>, url: string, fields?: Fields): Promise<Answer> {
    const session = await this.#sessionOf(calling);
    const { cookie, csrf } = session;
    const entries = Object.entries({ csrf, ...fields }).flatMap(([name, values]) =>
      [values].flat().map((value) => [name, value]),
    );
    const form = fields && {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(entries).toString(),
    };
    const answer = await this.#service.app.inject({
      method: fields === undefined ? 'GET' : 'POST',
      url,
      cookies: { console: cookie },
      ...form,
    });
    const told = this.#toldBy(answer);
    // The session has ended. Who belongs to the account again signs in.
    if (told.status === 401) calling.session = undefined;
    this.#look(answer.body);
    return told;
  }

  #toldBy(answer: LightMyRequestResponse): Answer {
    const { statusCode: status, headers } = answer;
    const location = String(headers.location ?? '');
    if (status === 401 || location.includes('/console/sign-in')) return { status: 401 };
    if (status === 403 || status === 404) return { status };
    const [flash] = answer.cookies.filter(({ name, value }) => name === 'console_flash' && value !== '');
    const { secretKey } = this.#service.core.config;
    const kind = flash && JSON.parse(unseal(secretKey, purposes.consoleCookie(flash.name), flash.value)).flash.kind;
    if (status >= 500) return { status };
    if (status >= 400 || kind === 'problem' || kind === 'notice') return { status: 422 };
    const [, id] = /\/console\/bookings\/(\d+)/.exec(location) ?? [];
    return { status: 200, ...(id !== undefined && { body: { id: Number(id) } }) };
  }

  /** A new session for a member who has none that is young, if the member may have one. */
  async #sessionOf(calling: Extract<Calling, { face: 'console' }>): Promise<Session> {
    const { member, session } = calling;
    if (session !== undefined && this.#clock() < session.startedAt + SESSION_MS) return session;
    const { sessions } = this.#service;
    const cookie = await sessions.start(member.userId, accountOf(member), undefined);
    const current: CurrentSession | undefined = await sessions.current(cookie);
    const csrf = current === undefined ? '' : sessions.csrfToken(current);
    calling.session = { cookie, csrf, startedAt: this.#clock() };
    return calling.session;
  }

  /** A member lets an app act for an account. */
  async connect(face: ConnectedApp['face'], name: string, member: Member, email: string): Promise<ConnectedApp> {
    const app = await TestApp.register(this.#service.url);
    const account = `${member.kind}:${member.id}`;
    const granted = await app.tokens({ email, password: PASSWORD, account, resource: face, scope: SCOPES[face] });
    const { access_token: access, refresh_token: refresh = '' } = granted;
    return { face, name, member, app, access, refresh, issuedAt: this.#clock() };
  }

  /** The token of an app, as fresh as an app keeps it. */
  async tokenOf(connected: ConnectedApp, isValid: boolean): Promise<string> {
    if (!isValid) {
      const isRefreshed = await connected.app.refresh(connected.refresh, connected.face).then(
        () => true,
        () => false,
      );
      if (isRefreshed) throw new Error(`The app ${connected.name} was refreshed after its member had lost the role`);
    } else if (this.#clock() >= connected.issuedAt + REFRESH_AFTER_MS) {
      const fresh = await connected.app.refresh(connected.refresh, connected.face);
      Object.assign(connected, { access: fresh.access_token, refresh: fresh.refresh_token, issuedAt: this.#clock() });
    }
    return connected.access;
  }
}
