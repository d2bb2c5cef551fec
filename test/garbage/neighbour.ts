import { setTimeout as pause } from 'node:timers/promises';
import { inDays } from '../in-days.ts';

const PER_SECOND = 20;

/**
 * Another account that looks at a day, lists its bookings and requests one, again and again, while others send garbage.
 * @param key the key of a brand
 * @returns a function that ends it
 */
export function startNeighbour(url: string, key: string): () => Promise<Neighbour> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const took: number[] = [];
  const refused: string[] = [];

  async function send(path: string, body?: object): Promise<void> {
    const startedAt = performance.now();
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await fetch(`${url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) ?? null });
    const text = await answer.text();
    took.push(performance.now() - startedAt);
    // Garbage may have closed the day, or changed the hours.
    const isExpected = answer.ok || (method === 'POST' && [409, 422].includes(answer.status));
    if (!isExpected) refused.push(`${method} ${path}: ${answer.status} ${text.slice(0, 200)}`);
  }

  let isOver = false;
  async function goOn(): Promise<void> {
    for (let turn = 0; !isOver; turn += 1) {
      const date = inDays(1 + (turn % 200));
      await send(`/spaces/1/availability?date=${date}`);
      await send('/bookings');
      if (turn % 10 === 0) await send('/bookings', { spaceId: 1, startTime: date, startHour: 12 });
      await pause(2_000 / PER_SECOND);
    }
  }
  const running = goOn();
  return async () => {
    isOver = true;
    await running;
    return { count: took.length, p99: p99(took), longest: Math.max(...took), refused };
  };
}

export type Neighbour = {
  readonly count: number;
  /** In milliseconds, as `longest`. */
  readonly p99: number;
  readonly longest: number;
  /** Answers that another account must not cause. */
  readonly refused: readonly string[];
};

/** The value that 99 % are below. */
const p99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;
