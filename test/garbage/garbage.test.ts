import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { atEnd } from '../at-end.ts';
import { recordProof } from '../proof/proof.ts';
import { garbage, requestOf, sizes } from './mutations.ts';
import { startNeighbour } from './neighbour.ts';
import type { Place, Sent } from './place.ts';
import { openSenders, type Senders } from './senders.ts';

/** GARBAGE_PLACES: only places whose name it matches. */
const { GARBAGE_REQUESTS = '10000', GARBAGE_SEED = String(Date.now() % 2 ** 31), GARBAGE_PLACES = '' } = process.env;
const SEED = Number(GARBAGE_SEED);
/** Requests that are on their way at a time. */
const TOGETHER = 8;
/** docs/guides/rest-api.md promises an answer within it. */
const ANSWERED_WITHIN_MS = 10_000;

let senders: Senders;
const agent = new Agent({ keepAlive: true, maxSockets: TOGETHER });
const whenFinished = atEnd();
beforeAll(async () => {
  senders = await openSenders(whenFinished);
}, 120_000);
afterAll(() => agent.destroy());

type Answer = {
  readonly status: number;
  readonly text: string;
  /** Where it leads to, if it does. */
  readonly location: string | undefined;
  readonly ms: number;
};

const send = ({ method, path, headers, body }: Sent): Promise<Answer> =>
  new Promise((resolve) => {
    const startedAt = performance.now();
    const end = (status: number, text: string, location?: string) =>
      resolve({ status, text, location, ms: performance.now() - startedAt });
    const asked = request(
      `${senders.url}${path}`,
      { method, headers, agent, timeout: 3 * ANSWERED_WITHIN_MS },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          // Of a long answer, as much as a message needs.
          if (text.length < 2_000) text += part;
        });
        answer
          .once('end', () => end(answer.statusCode ?? 0, text, answer.headers.location))
          .once('error', () => end(answer.statusCode ?? 0, text));
        // It has no end.
        if (answer.headers['content-type']?.startsWith('text/event-stream') && method === 'GET') answer.destroy();
      },
    );
    // The service closes the connection of a request that is too long before all of it has arrived.
    asked.once('error', (error: NodeJS.ErrnoException) => end(CUT.has(error.code ?? '') ? 413 : 0, String(error)));
    asked.once('timeout', () => asked.destroy(new Error('No answer')));
    asked.end(body);
  });

const CUT = new Set(['EPIPE', 'ECONNRESET']);

const rssMiB = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${senders.pid}/status`, 'utf8'))?.[1]) / 1_024;

const problems: string[] = [];
const statuses = new Map<number, number>();
let longest = { ms: 0, what: '' };

async function tryOne(place: Place, what: string, sent: Sent): Promise<void> {
  const headers = { ...(await senders.headersOf(place.sender)), ...sent.headers };
  const answer = await send({ ...sent, headers });
  statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  if (answer.ms > longest.ms) longest = { ms: answer.ms, what: `${place.name}: ${what}` };
  const shown = () => `${place.name} by ${place.sender}, ${what}: ${JSON.stringify(sent).slice(0, 1_000)}`;
  if (answer.status === 0 || answer.status >= 500)
    problems.push(`${answer.status} ${answer.text.slice(0, 200)}: ${shown()}`);
  if (answer.ms > ANSWERED_WITHIN_MS) problems.push(`${Math.round(answer.ms)} ms: ${shown()}`);
  if (answer.status >= 400 && sent.path.startsWith('/api/') && answer.status !== 413 && !isError(answer.text))
    problems.push(`${answer.status} in another shape, ${answer.text.slice(0, 200)}: ${shown()}`);
  senders.noteAnswer(place.sender, answer);
}

function isError(text: string): boolean {
  try {
    const { error, details } = JSON.parse(text);
    return typeof error === 'string' && typeof details === 'string';
  } catch {
    return false;
  }
}

/** Some at a time, until all were sent. */
async function tryAll(
  all: Iterable<{ readonly place: Place; readonly what: string; readonly sent: Sent }>,
): Promise<number> {
  let count = 0;
  const next = all[Symbol.iterator]();
  const worker = async () => {
    for (let one = next.next(); one.done !== true; one = next.next()) {
      count += 1;
      await tryOne(one.value.place, one.value.what, one.value.sent);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, worker));
  return count;
}

const chosen = () => senders.places().filter(({ name }) => new RegExp(GARBAGE_PLACES).test(name));

/** Each place once, as the last sender that has it: a Manager has all forms. */
function* everySize() {
  const places = new Map(chosen().map((place) => [place.name.replaceAll(/[\d-]+/g, ''), place] as const));
  for (const place of places.values()) for (const { what, sent } of sizes(place)) yield { place, what, sent };
}

function* random(amount: number) {
  const places = chosen();
  for (const [index, { place: at, changes }] of fc.sample(garbage, { numRuns: amount, seed: SEED }).entries()) {
    const place = places[at % places.length];
    if (place !== undefined) yield { place, what: `number ${index}`, sent: requestOf(place, changes) };
  }
}

test('answers garbage of every size in every field, and goes on', { timeout: 3_600_000 }, async () => {
  const amount = Number(GARBAGE_REQUESTS);
  const endNeighbour = startNeighbour(senders.url, senders.neighboursKey);
  const memory = [rssMiB()];
  const sized = await tryAll(everySize());
  memory.push(rssMiB());
  let tried = 0;
  const requests = [...random(amount)];
  for (let from = 0; from < amount; from += amount / 4) {
    tried += await tryAll(requests.slice(from, from + amount / 4));
    memory.push(rssMiB());
  }
  const neighbour = await endNeighbour();
  const places = chosen();
  const took = `longest ${Math.round(longest.ms)} ms`;
  const others = `${neighbour.count} answers to another account, p99 ${Math.round(neighbour.p99)} ms, longest ${Math.round(neighbour.longest)} ms`;
  const grown = `memory after each part ${memory.map(Math.round).join(', ')} MiB`;
  console.log(
    `${places.length} places, ${sized} sizes, ${tried} random requests, seed ${SEED}; ` +
      `${JSON.stringify(Object.fromEntries([...statuses].sort()))}; ${grown}; ${others}; ${took}: ${longest.what.slice(0, 200)}`,
  );
  expect(neighbour.refused).toEqual([]);
  expect(problems.slice(0, 20)).toEqual([]);
  expect(senders.isRunning()).toBe(true);
  expect(tried).toBe(amount);
  recordProof({
    search: 'garbage: `npm run test:system -- test/garbage`',
    promise: 'no 500, no connection without an answer, every error in one shape, within 10 s',
    tried: `${places.length} places, each field at 3 sizes in 3 ways (${sized}), ${tried} random requests; ${took}; ${others}; ${grown}`,
    seed: SEED,
  });
});
