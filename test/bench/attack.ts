import { Pool } from 'undici';
import { dateIn, type Places } from './requests.ts';

/** What an attacker has: the credentials of one account. Those who have none are attacks, too. */
export type Attack = {
  readonly url: string;
  readonly key: string;
  readonly client: { readonly id: string; readonly secret: string };
  readonly user: { readonly email: string; readonly password: string };
  readonly places: Places;
};

/** Requests that were answered, by status, and those that were not. */
export type Answers = Record<string, number>;

/** Calls something on and on, so many times at once. */
export async function repeat(times: number, work: () => Promise<unknown>): Promise<void> {
  const again = async (): Promise<never> => {
    for (;;) await work();
  };
  await Promise.all(Array.from({ length: times }, again));
}

export const count = (answers: Answers, what: string | number) => {
  answers[what] = (answers[what] ?? 0) + 1;
};

const pools = new Map<string, Pool>();

export async function send(
  { url }: Pick<Attack, 'url'>,
  answers: Answers,
  request: { method: 'GET' | 'POST' | 'DELETE'; path: string; headers: Record<string, string>; body?: string },
): Promise<string> {
  const pool = pools.getOrInsertComputed(url, () => new Pool(url, { connections: 256 }));
  try {
    const { statusCode, body } = await pool.request({ ...request, body: request.body ?? null });
    count(answers, statusCode);
    return await body.text();
  } catch {
    count(answers, 'errors');
    return '{}';
  }
}

let keys = 0;
export function rest(
  attack: Attack,
  answers: Answers,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<string> {
  const headers: Record<string, string> = { authorization: `Bearer ${attack.key}` };
  if (body === undefined) return send(attack, answers, { method, path: `/api/v1${path}`, headers });
  keys += 1;
  Object.assign(headers, { 'content-type': 'application/json', 'idempotency-key': `attack-${process.pid}-${keys}` });
  return send(attack, answers, { method, path: `/api/v1${path}`, headers, body: JSON.stringify(body) });
}

/** An access token for the MCP server. */
export async function tokenOf({ url, client }: Pick<Attack, 'url' | 'client'>): Promise<string> {
  const grant = { grant_type: 'client_credentials', resource: 'mcp', scope: 'service.mcp' };
  const response = await fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
    body: new URLSearchParams(grant),
  });
  const { access_token: token } = (await response.json()) as { readonly access_token?: string };
  if (token === undefined) throw new Error(`The token request was answered with ${response.status}`);
  return token;
}

/** Calls a tool of the MCP server. @returns what it answers */
export async function tool(
  attack: Pick<Attack, 'url'>,
  answers: Answers,
  token: string,
  name: string,
  arguments_: object,
): Promise<{ readonly [field: string]: unknown }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: arguments_ } });
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': '2025-11-25',
  };
  const answered = await send(attack, answers, { method: 'POST', path: '/mcp', headers, body });
  const json = answered.startsWith('{') ? answered : /^data: (.*)$/m.exec(answered)?.[1];
  return JSON.parse(json ?? '{}').result?.structuredContent ?? {};
}

export const BUSY_HOUR = { date: dateIn(1_500), startHour: 12 };

/** Requests the same hour again and again, and cancels it. */
export async function requestAndCancel(
  attack: Pick<Attack, 'url' | 'places'>,
  answers: Answers,
  token: string,
): Promise<boolean> {
  keys += 1;
  const idempotencyKey = `busy-${process.pid}-${keys}`;
  const wanted = { spaceId: attack.places.spaceIds[0], ...BUSY_HOUR, idempotencyKey };
  const { id: bookingId } = await tool(attack, answers, token, 'request_booking', wanted);
  if (bookingId === undefined) return false;
  await tool(attack, answers, token, 'cancel_booking', { bookingId });
  return true;
}
