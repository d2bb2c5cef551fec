import { randomUUIDv7 } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Demo } from '../../src/demo/demo-file.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { type Environment, type NodeProcess, runNode, startNode } from '../service/node-process.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { startLoad } from './load.ts';
import { earlierRelease, NEXT_KIND, NEXT_KIND_VALUE, nextRelease } from './releases.ts';

export type Outcome = {
  readonly acknowledged: number;
  readonly deliveries: number;
  /** Deliveries that a receiver got more than once, with one `webhook-id`. */
  readonly repeated: number;
  readonly stale: number;
  /** What went wrong; empty if every promise held. */
  readonly broken: readonly string[];
};

/** How long deliveries may take after the last process has settled. */
const SETTLE_MS = 60_000;

/**
 * A release that is rolled out and rolled back under load, with kills and a freeze: processes of two releases on one store. Nothing
 * that was acknowledged is lost, nothing exists twice, and a process that says it is ready answers, and with the truth.
 * @param options.phaseMs how long each of the five phases lasts
 * @param options.progress gets a line for each phase
 */
export async function rollOutAndBack(options: {
  readonly phaseMs: number;
  readonly env?: Environment;
  readonly progress?: (line: string) => void;
}): Promise<Outcome> {
  const { phaseMs, env = {}, progress = () => {} } = options;
  const folder = await mkdtemp(join(tmpdir(), 'venue-release-'));
  const dataDir = join(folder, 'data');
  const earlier = earlierRelease(join(folder, 'earlier'));
  const next = nextRelease(join(folder, 'next'));
  const receiver = await startReceiver();
  const started: NodeProcess[] = [];
  const serving: NodeProcess[] = [];
  const broken: string[] = [];

  const settings = { DATA_DIR: dataDir, LOG_LEVEL: 'warn', WEBHOOKS_ALLOW_PRIVATE: 'true', DRAIN: 'PT0.5S', ...env };

  /** Starts a process and lets it serve once it is ready. */
  async function start(release: string): Promise<NodeProcess> {
    const process = await startNode('src/main.ts', '/readyz', settings, release);
    started.push(process);
    serving.push(process);
    return process;
  }
  /** A balancer asks nobody who says that it stops; a killed one it asks until it notices. */
  async function end(process: NodeProcess | undefined, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (process === undefined) return;
    const away = () => {
      const at = serving.indexOf(process);
      if (at >= 0) serving.splice(at, 1);
    };
    if (signal === 'SIGTERM') away();
    const code = await process.end(signal);
    away();
    if (signal === 'SIGTERM' && code !== 0) broken.push(`A process ended with ${code}: ${process.output.stderr}`);
  }

  try {
    progress('the earlier release serves');
    const [a, b] = [await start(earlier), await start(earlier)];
    const demo: Demo = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
    const [brand] = demo.brands;
    const [community] = demo.communities;
    if (brand === undefined || community === undefined) throw new Error('No demo data');
    await register(a, brand.apiKey, receiver, 15);
    const load = startLoad({
      serving,
      apiKey: brand.apiKey,
      // The other community's first space takes no bookings.
      spaces: community.spaces.map(({ id }) => id),
    });
    await delay(phaseMs);

    progress('the next release joins; a process of the earlier one is killed');
    const c = await start(next);
    await end(a, 'SIGKILL');
    // Subscribed to what only the next release knows.
    await register(c, community.apiKey, receiver, 15 + NEXT_KIND_VALUE);
    const surveys = await appendSurveys(dataDir, { communityId: community.id, brandId: brand.id });
    await delay(phaseMs);

    progress('the next release takes over; one of its processes is frozen');
    const d = await start(next);
    await end(b, 'SIGTERM');
    serving.splice(serving.indexOf(c), 1);
    process.kill(c.pid, 'SIGSTOP');
    await delay(Math.max(phaseMs, 4_000));
    process.kill(c.pid, 'SIGCONT');
    await isReady(c);
    serving.push(c);

    progress('the release is rolled back');
    const e = await start(earlier);
    await end(d, 'SIGKILL');
    await delay(phaseMs);
    const f = await start(earlier);
    await end(c, 'SIGTERM');
    progress('the earlier release serves alone again');
    await delay(phaseMs);

    progress('and the next one comes back, to deliver what only it knows');
    const g = await start(next);
    await load.stop();
    broken.push(...load.broken);

    for (const release of [earlier, next]) {
      const verified = await runNode('src/cli.ts', ['verify'], settings, { root: release });
      if (verified.code !== 0) broken.push(`verify: ${verified.stdout}${verified.stderr}`);
    }
    for (const process of [e, f, g]) broken.push(...(await lost(process, brand.apiKey, load.acknowledged)));
    const expected = load.acknowledged.map(({ bookingId }) => `BookingRequested ${bookingId}`);
    broken.push(...(await undelivered(receiver, expected, 2)));
    broken.push(
      ...(await undelivered(
        receiver,
        surveys.map((id) => `${NEXT_KIND} ${id}`),
        1,
      )),
    );

    const ids = receiver.received.map(({ headers }) => String(headers['webhook-id']));
    return {
      acknowledged: load.acknowledged.length,
      deliveries: new Set(ids).size,
      repeated: ids.length - new Set(ids).size,
      stale: load.stale(),
      broken,
    };
  } finally {
    for (const each of started) await each.end('SIGKILL');
    await receiver.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

async function isReady({ url }: NodeProcess): Promise<void> {
  for (;;) {
    const ready = await fetch(`${url}/readyz`).catch(() => undefined);
    await ready?.arrayBuffer();
    if (ready?.ok) return;
    await delay(20);
  }
}

async function register({ url }: NodeProcess, apiKey: string, receiver: Receiver, events: number): Promise<void> {
  const response = await fetch(`${url}/api/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url, events }),
  });
  if (response.status !== 201) throw new Error(`The webhook was not registered: ${await response.text()}`);
}

/** What the next release writes and the earlier one does not know, in streams of its own. @returns their ids */
async function appendSurveys(dataDir: string, of: { communityId: number; brandId: number }): Promise<string[]> {
  const events = await openSqliteEventStore({ path: join(dataDir, 'events.db') });
  const ids: string[] = [];
  for (let n = 0; n < 20; n++) {
    const id = randomUUIDv7();
    const metadata = {
      at: new Date().toISOString(),
      actor: { kind: 'system', id: 'survey' },
      correlationId: id,
      schema: 1,
    };
    await events.append(`survey-${n}`, [{ id, type: NEXT_KIND, data: { ...of, survey: id }, metadata }], {
      expectedRevision: 'none',
    });
    ids.push(id);
  }
  await events.close();
  return ids;
}

/** Acknowledged bookings that a process does not list, and slots that it lists twice. */
async function lost(
  { url }: NodeProcess,
  apiKey: string,
  acknowledged: readonly { readonly bookingId: number }[],
): Promise<string[]> {
  const response = await fetch(`${url}/api/v1/bookings`, { headers: { authorization: `Bearer ${apiKey}` } });
  const listed: { id: number; spaceId: number; date: string; startHour: number }[] = JSON.parse(await response.text());
  const ids = new Set(listed.map(({ id }) => id));
  const slots = new Set(listed.map(({ spaceId, date, startHour }) => `${spaceId} ${date} ${startHour}`));
  const missing = acknowledged.filter(({ bookingId }) => !ids.has(bookingId));
  return [
    ...(missing.length > 0
      ? [`${missing.length} acknowledged bookings are not listed: ${JSON.stringify(missing.slice(0, 3))}`]
      : []),
    ...(ids.size !== listed.length || slots.size !== listed.length
      ? ['A booking is listed twice, or two have one slot']
      : []),
  ];
}

/** Waits for deliveries, each by so many registrations, and says which have not come or came under several ids. */
async function undelivered(receiver: Receiver, expected: readonly string[], times: number): Promise<string[]> {
  const ids = () => {
    const found = new Map<string, Set<string>>();
    for (const { body, headers } of receiver.received) {
      const { event, data } = JSON.parse(body);
      const what = `${event} ${data.bookingId ?? data.survey}`;
      found.set(what, (found.get(what) ?? new Set()).add(String(headers['webhook-id'])));
    }
    return found;
  };
  const deadline = performance.now() + SETTLE_MS;
  const wrong = (found: ReadonlyMap<string, ReadonlySet<string>>) =>
    expected.filter((what) => (found.get(what)?.size ?? 0) < (what.startsWith('Booking') ? 1 : times));
  while (wrong(ids()).length > 0 && performance.now() < deadline) await delay(100);
  const found = ids();
  return [
    ...wrong(found).map((what) => `Never delivered: ${what}`),
    ...expected
      .filter((what) => (found.get(what)?.size ?? 0) > times)
      .map((what) => `Delivered under several ids: ${what}`),
  ];
}
