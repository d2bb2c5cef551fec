import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import autocannon from 'autocannon';

export type Load = {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Requests per second over all connections; as many as possible by default. */
  readonly rate?: number;
  /** With bodies, each is sent once. Without, each connection cycles through them, which is cheapest for the sender. */
  readonly requests: readonly { readonly path: string; readonly body?: object }[];
};

export type Loaded = {
  readonly perSecond: number;
  /** Responses by status code. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests without a response. */
  readonly errors: number;
};

/** Puts load on a server from a separate process, so that it takes no time from the one that measures or is measured. */
export async function load(load: Load): Promise<Loaded> {
  const child = spawn(process.execPath, [new URL(import.meta.url).pathname], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(load));
  const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return JSON.parse(printed);
}

function nextOf(requests: Load['requests']): (request: autocannon.Request) => autocannon.Request {
  let next = 0;
  return (request) => {
    const { path = '/', body } = requests[next++ % requests.length] ?? {};
    return { ...request, method: 'POST', path, body: JSON.stringify(body) };
  };
}

if (import.meta.main) {
  const { url, connections, seconds, key, headers, rate, requests }: Load = JSON.parse(await text(process.stdin));
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }), ...headers },
    ...(rate !== undefined && { overallRate: rate }),
    requests: requests.some(({ body }) => body !== undefined)
      ? [{ setupRequest: nextOf(requests) }]
      : requests.map(({ path }) => ({ path })),
  });
  const statuses = Object.fromEntries(
    Object.entries(result.statusCodeStats ?? {}).map(([status, { count }]) => [status, count ?? 0]),
  );
  const loaded: Loaded = { perSecond: result.requests.total / result.duration, statuses, errors: result.errors };
  console.log(JSON.stringify(loaded));
}
