import { TestApp } from '../authorization-server/test-app.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { runNode } from '../service/node-process.ts';
import { startServiceProcess, temporaryDataDir } from '../service/service-process.ts';
import type { Place } from './place.ts';
import { formPlaces, oauthPlaces, restPlaces, toolPlaces } from './places.ts';

const ROLES = ['viewer', 'viewer-without-amounts', 'coordinator', 'manager'] as const;
const PASSWORD = 'correct horse battery';

type Noted = { readonly status: number; readonly location: string | undefined };

export type Senders = Awaited<ReturnType<typeof openSenders>>;

/** A service with demo data, everyone who sends to it, and the places that each of them may send to. */
export async function openSenders(whenFinished: (end: () => unknown) => void) {
  const dataDir = temporaryDataDir(whenFinished);
  const env = {
    TRUST_PROXY: '127.0.0.1,::1',
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    // The most that can be set: forms beyond it are refused before they are looked at.
    CONSOLE_WRITES_PER_MINUTE: '1000',
  };
  const service = await startServiceProcess(dataDir, env, whenFinished);
  const { authUrl: url, communities, brands } = service.demo();
  const [community, brand] = [communities[0], brands[0]];
  if (community === undefined || brand === undefined) throw new Error('The demo has no accounts');
  const tomorrow = inDays(1);
  let addresses = 0;
  /** Each request comes from a network of its own, because the refused forms of one are limited. */
  const ownAddress = () => {
    addresses += 1;
    return { 'x-forwarded-for': `100.${(addresses >> 8) & 255}.${addresses & 255}.7` };
  };

  async function venue(args: readonly string[], input = ''): Promise<string> {
    const { code, stdout, stderr } = await runNode('src/cli.js', args, { DATA_DIR: dataDir, ...env }, { input });
    if (code !== 0) throw new Error(stderr);
    return stdout;
  }

  let users = 0;
  /** A new member of an account. */
  async function member(account: readonly string[], role: string) {
    users += 1;
    const email = `garbage-${users}@example.com`;
    await venue(['user', 'add', '--email', email, '--role', role, ...account], PASSWORD);
    return { email, password: PASSWORD };
  }

  const added = JSON.parse(await venue(['brand', 'add', '--name', 'Neighbour', '--json']));
  const issued = JSON.parse(await venue(['api-key', 'issue', '--brand', String(added.id), '--json']));

  const headers = new Map<string, Readonly<Record<string, string>>>();
  const places: Place[] = [];
  const keys = { 'the key of a community': community.apiKey, 'the key of a brand': brand.apiKey };
  for (const [name, key] of Object.entries(keys)) headers.set(name, { authorization: `Bearer ${key}` });
  places.push(...restPlaces([...Object.keys(keys), 'a stranger'], tomorrow));

  const csrf = new Map<string, string>();
  const browsers = new Map<string, () => Promise<Browser>>();
  for (const [kind, [first, second]] of Object.entries({ community: communities, brand: brands })) {
    const argumentsOf = (of: { readonly id: number } | undefined) => [`--${kind}`, String(of?.id)];
    for (const role of ROLES) {
      // Each account may send so many forms in a minute, and a Manager sends most.
      const account = argumentsOf(role === 'manager' ? second : first);
      const sender = `a ${role} of a ${kind}`;
      const open = async () => {
        const browser = new Browser(url, ownAddress());
        const { text } = await browser.signIn(await member(account, role));
        csrf.set(sender, /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '');
        headers.set(sender, { cookie: `console=${browser.cookie('console')}`, accept: 'text/html', origin: url });
        return browser;
      };
      browsers.set(sender, open);
      places.push(...(await formPlaces(sender, await open(), () => csrf.get(sender) ?? '')));
    }
    const app = await TestApp.register(url);
    const user = await member(argumentsOf(first), 'manager');
    const accountName = `${kind === 'brand' ? 'Brand' : 'Community'}:${first?.id}`;
    const consent = { ...user, account: accountName, resource: 'mcp', scope: 'service.mcp' };
    const { access_token: token } = await app.tokens(consent);
    const assistant = `an assistant of a ${kind}`;
    headers.set(assistant, { authorization: `Bearer ${token}` });
    places.push(...toolPlaces(assistant, await toolsOf(url, token), tomorrow));
    if (kind === 'brand') places.push(...oauthPlaces('a stranger', app.id));
  }

  const signedOut = new Set<string>();
  return {
    url,
    pid: service.pid,
    /** The key of a brand that sends no garbage. */
    neighboursKey: String(issued.key),
    places: (): readonly Place[] => places,
    async headersOf(sender: string): Promise<Readonly<Record<string, string>>> {
      if (signedOut.delete(sender)) await browsers.get(sender)?.();
      const own = headers.get(sender) ?? {};
      return { ...ownAddress(), ...own };
    },
    /** A session may have been ended by what it sent, such as leaving the account. */
    noteAnswer(sender: string, { status, location = '' }: Noted): void {
      if (browsers.has(sender) && (status === 401 || location.includes('/console/sign-in?to='))) signedOut.add(sender);
    },
    isRunning: () => process.kill(service.pid, 0),
  };
}

async function toolsOf(url: string, token: string) {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  const text = await answer.text();
  const { result } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
  return result.tools;
}
