import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import autocannon from 'autocannon';
import { Pool } from 'undici';

export type Load = {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** So many requests instead, however long they take. */
  readonly amount?: number;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Requests per second over all connections, evenly spread; as many as possible by default. */
  readonly rate?: number;
  /** With bodies, each is sent once. Without, each connection cycles through them, which is cheapest for the sender. */
  readonly requests: readonly { readonly path: string; readonly body?: object }[];
};

export type Loaded = {
  readonly perSecond: number;
  /** Of 100 answers, the slowest takes longer, in milliseconds. Absent for requests at a rate. */
  readonly p99?: number;
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

/** As many as the connections take, by a sender that costs little. */
async function asMany({ url, connections, seconds, amount, requests }: Load, headers: Headers): Promise<Loaded> {
  const result = await autocannon({
    url,
    connections,
    headers,
    duration: seconds,
    ...(amount !== undefined && { amount }),
    requests: requests.some(({ body }) => body !== undefined)
      ? [{ setupRequest: nextOf(requests) }]
      : requests.map(({ path }) => ({ path })),
  });
  const statuses = Object.fromEntries(
    Object.entries(result.statusCodeStats ?? {}).map(([status, { count }]) => [status, count ?? 0]),
  );
  const { p99 } = result.latency;
  return { perSecond: result.requests.total / result.duration, p99, statuses, errors: result.errors };
}

/** So many per second, one after another: autocannon would send those of a second at its beginning, as fast as it can. */
async function paced({ url, connections, seconds, requests }: Load, headers: Headers, rate: number): Promise<Loaded> {
  const dispatcher = new Pool(url, { connections });
  const statuses: Record<string, number> = {};
  let errors = 0;
  const send = async ({ path, body }: Load['requests'][number]): Promise<void> => {
    try {
      const method = body === undefined ? 'GET' : 'POST';
      const response = await dispatcher.request({ path, method, headers, body: JSON.stringify(body) ?? null });
      await response.body.dump();
      statuses[response.statusCode] = (statuses[response.statusCode] ?? 0) + 1;
    } catch {
      errors += 1;
    }
  };
  const sent: Promise<void>[] = [];
  const startedAt = performance.now();
  const end = seconds * 1_000;
  for (let elapsed = 0; elapsed < end; elapsed = performance.now() - startedAt) {
    for (const due = (elapsed * rate) / 1_000; sent.length < due; ) {
      const request = requests[sent.length % requests.length];
      if (request !== undefined) sent.push(send(request));
    }
    await pause(1);
  }
  await Promise.all(sent);
  const perSecond = (sent.length / (performance.now() - startedAt)) * 1_000;
  await dispatcher.close();
  return { perSecond, statuses, errors };
}

type Headers = Record<string, string>;

if (import.meta.main) {
  const load: Load = JSON.parse(await text(process.stdin));
  const { key, rate } = load;
  const headers = {
    'content-type': 'application/json',
    ...(key && { authorization: `Bearer ${key}` }),
    ...load.headers,
  };
  console.log(JSON.stringify(await (rate === undefined ? asMany(load, headers) : paced(load, headers, rate))));
}
