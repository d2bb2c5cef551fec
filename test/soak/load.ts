import { setTimeout as delay } from 'node:timers/promises';
import { inDays } from '../in-days.ts';
import type { NodeProcess } from '../service/node-process.ts';
import type { Market } from './market.ts';
import { createMover } from './moves.ts';
import { createRandom, type Random } from './random.ts';

/** An hour of a space, as a request names it. */
export type Slot = { readonly spaceId: number; readonly startTime: string; readonly startHour: number };

/** A booking that was answered 201, and where it is. */
export type Acknowledged = Slot & {
  readonly bookingId: number;
  /** Whether a move has approved it. */
  readonly hasMoved: boolean;
  /** The time of the request, by `performance.now()`. */
  readonly askedAt: number;
};

/** Violations. Empty after a run in which every promise held. */
type Broken = string[];

export type Load = {
  readonly acknowledged: readonly Acknowledged[];
  readonly broken: Broken;
  /** Answers that did not show a booking answered 201 earlier, because the wait of 2 s had run out. */
  readonly stale: () => number;
  /** Stops sending requests, and waits for the answers. */
  stop(): Promise<void>;
};

export type Answer = {
  readonly status: number;
  readonly body: { readonly [field: string]: unknown };
  /** The process that answered, and when. */
  readonly by: string;
  /** The folder of its release. */
  readonly root: string;
  /** How long that process took, without the processes tried before it. */
  readonly tookMs: number;
};

type Request = {
  readonly body?: object;
  readonly key?: string;
  /** Default: that of the brand. */
  readonly apiKey?: string;
};

/** The wait after which a command answers although the read models do not show it yet, minus the time on the network. */
export const WAIT_MS = 1_900;
/** How long a process of another release may take to show a booking: 2 s, and more on a busy machine. */
const OTHER_RELEASE_MS = 6_000;
/** How long a request is retried, on any serving process. */
export const GIVE_UP_MS = 30_000;
const WORKERS = 4;
/** The number of days on which each space is booked, one hour after another. */
const DAYS = 1_500;

/**
 * Brands that book, look up their bookings through another process, move some, and sometimes compete for a slot. They call processes in
 * `asked`, as a load balancer would, and repeat unanswered requests on another one, with the same key. Processes in `serving`
 * must answer.
 */
export function startLoad(options: {
  readonly asked: readonly NodeProcess[];
  readonly serving: readonly NodeProcess[];
  readonly market: Market;
  readonly random?: Random;
  /** Whether bookings move, too, which not every release can do. */
  readonly moves?: boolean;
  /** How long each worker rests after a booking, so that the load leaves processor time for the service. */
  readonly restMs?: number;
}): Load {
  const { asked, serving, market, random = createRandom(1), moves = false, restMs = 0 } = options;
  const { spaces } = market;
  const acknowledged: Acknowledged[] = [];
  const broken: Broken = [];
  let stopping = false;
  let stale = 0;
  let slots = 0;

  const any = (): NodeProcess | undefined => (asked.length === 0 ? undefined : random.pick(asked));

  async function ask(
    process: NodeProcess,
    path: string,
    { body, key, apiKey = market.brandKey }: Request,
  ): Promise<Answer> {
    const began = performance.now();
    const response = await fetch(`${process.url}/api/v1${path}`, {
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(key && { 'idempotency-key': key }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(GIVE_UP_MS),
    });
    const answered = JSON.parse(await response.text());
    const by = `${process.url} at ${new Date().toISOString()}`;
    return { status: response.status, body: answered, by, root: process.root, tookMs: performance.now() - began };
  }

  /** Repeats a request until a process answers. */
  async function answer(path: string, request: Request = {}): Promise<Answer> {
    const deadline = performance.now() + GIVE_UP_MS;
    for (;;) {
      const process = any();
      try {
        if (process === undefined) throw new Error('No process serves');
        const found = await ask(process, path, request);
        if (found.status < 500) return found;
        // A process in `serving` has reported ready, or has just lost its stores or been killed.
        if (serving.includes(process)) broken.push(`${path}: ${found.status} ${JSON.stringify(found.body)}`);
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
      await delay(20);
    }
  }

  /** A free slot that no other worker gets. */
  function slot(): Slot {
    const n = slots++;
    return {
      spaceId: spaces[n % spaces.length] ?? 0,
      startTime: inDays(30 + (Math.floor(n / spaces.length) % DAYS)),
      startHour: Math.floor(n / spaces.length / DAYS) % 23,
    };
  }

  async function book(): Promise<void> {
    const wanted = slot();
    const askedAt = performance.now();
    const { status, body, by, root, tookMs } = await answer('/bookings', { body: wanted, key: crypto.randomUUID() });
    if (status !== 201) {
      broken.push(`A free slot was refused: ${status} ${JSON.stringify(body)}`);
      return;
    }
    const bookingId = Number(body.id);
    acknowledged.push({ bookingId, ...wanted, askedAt, hasMoved: false });
    const mayBeStale = tookMs > WAIT_MS;
    const answeredAt = performance.now();
    let listed: Answer;
    do {
      listed = await answer(`/bookings?startDate=${wanted.startTime}&endDate=${wanted.startTime}`);
      if (Array.isArray(listed.body) && listed.body.some(({ id }) => id === bookingId)) return;
      await delay(20);
    } while (listed.root !== root && performance.now() - answeredAt < OTHER_RELEASE_MS);
    if (mayBeStale) stale += 1;
    else broken.push(`Booking ${bookingId}, answered 201 by ${by}, was not listed by ${listed.by}`);
  }

  async function race(): Promise<void> {
    const wanted = slot();
    const askedAt = performance.now();
    const answers = await Promise.all(
      [1, 2, 3].map(() => answer('/bookings', { body: wanted, key: crypto.randomUUID() })),
    );
    const made = answers.filter(({ status }) => status === 201);
    for (const { body } of made) acknowledged.push({ bookingId: Number(body.id), ...wanted, askedAt, hasMoved: false });
    const refused = answers.filter(({ status, body }) => status === 422 && body.error === 'SlotUnavailable');
    if (made.length !== 1 || refused.length !== 2) broken.push(`A race for one slot: ${JSON.stringify(answers)}`);
  }

  const move = createMover({ market, random, answer, slot, any, acknowledged, broken });

  const actionOf = (round: number) => {
    if (round % 10 === 9) return race;
    return moves && round % 10 === 4 ? move : book;
  };

  async function work(): Promise<void> {
    for (let round = 0; !stopping; round++) {
      try {
        await actionOf(round)();
        await delay(restMs);
      } catch (error) {
        broken.push(String(error));
        return;
      }
    }
  }
  const running = Promise.all(Array.from({ length: WORKERS }, work));

  return {
    acknowledged,
    broken,
    stale: () => stale,
    async stop() {
      stopping = true;
      await running;
    },
  };
}
