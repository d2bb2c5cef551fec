import { setTimeout as delay } from 'node:timers/promises';
import { Browser } from '../browser.ts';
import type { NodeProcess } from '../service/node-process.ts';
import { type Acknowledged, type Answer, GIVE_UP_MS, type Slot, WAIT_MS } from './load.ts';
import type { Market } from './market.ts';
import type { Random } from './random.ts';

type Party = 'brand' | 'community';
type Moving = Slot & { readonly bookingId: number };

const PARTIES: readonly Party[] = ['brand', 'community'];
const isSamePlace = ({ status, body }: Answer): boolean =>
  status === 422 && /in this space at this time already/.test(String(body.details));

/** What moving a booking needs of the load. */
export type MoverDeps = {
  readonly market: Market;
  readonly random: Random;
  /** Repeats a request until a process answers. */
  readonly answer: (path: string, request?: { body?: object; key?: string; apiKey?: string }) => Promise<Answer>;
  /** A slot that no other worker gets. */
  readonly slot: () => Slot;
  /** Any process that should answer. */
  readonly any: () => NodeProcess | undefined;
  readonly acknowledged: Acknowledged[];
  readonly broken: string[];
};

/**
 * Moves bookings of its own: the brand asks or the house proposes, and the other party takes or declines the move. Checks that a booking has
 * one place, and that the hours beside it are free for others.
 */
export function createMover(deps: MoverDeps): () => Promise<void> {
  const { market, random, answer, slot, acknowledged, broken } = deps;
  const keys = { brand: market.brandKey, community: market.communityKey };

  const request = (body: Slot) => answer('/bookings', { body, key: crypto.randomUUID() });
  const move = (by: Party, id: number, to: Slot) => answer(`/bookings/${id}/move`, { body: to, apiKey: keys[by] });
  const store = (bookingId: number, at: Slot, askedAt: number, hasMoved: boolean): void =>
    void acknowledged.push({ bookingId, askedAt, hasMoved, ...at });

  /** Another request gets hours that no booking holds. */
  async function expectFree(hours: Slot, why: string): Promise<void> {
    const askedAt = performance.now();
    const { status, body } = await request(hours);
    if (status === 201) store(Number(body.id), hours, askedAt, false);
    else broken.push(`${why} are not free: ${status} ${JSON.stringify(body)}`);
  }

  /** Asks for a move, again while a process does not know the booking because the wait for the read models had run out at the request. */
  async function ask(by: Party, booked: Answer, to: Slot): Promise<void> {
    const deadline = performance.now() + GIVE_UP_MS;
    for (;;) {
      const asked = await move(by, Number(booked.body.id), to);
      const mayBeStale = booked.tookMs > WAIT_MS && performance.now() < deadline;
      if (asked.status === 200 && ('move' in asked.body || asked.tookMs > WAIT_MS)) return;
      if (asked.status !== 404 || !mayBeStale) {
        broken.push(`The ${by} could not ask for a move: ${JSON.stringify(asked)}`);
        return;
      }
      await delay(20);
    }
  }

  /** Declines a move in the console, again until a process shows a page without a move to answer. */
  async function decline(by: Party, id: number): Promise<void> {
    const deadline = performance.now() + GIVE_UP_MS;
    let isSent = false;
    for (;;) {
      const process = deps.any();
      try {
        if (process === undefined) throw new Error('No process serves');
        // The console of a process without PUBLIC_URL is here.
        const browser = await Browser.signedIn(`http://localhost:${new URL(process.url).port}`, market.users[by]);
        const page = await browser.open(`/console/bookings/${id}`);
        if (page.status !== 200) throw new Error(`${process.url} shows booking ${id} with ${page.status}`);
        if (page.text.includes('/move/answer"')) {
          isSent = true;
          await browser.send(page, '/move/answer', { answer: 'no' });
        } else if (isSent) return;
        if (performance.now() > deadline) throw new Error(`Booking ${id} shows the move as before`);
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
      await delay(20);
    }
  }

  /** The other party accepts while another request wants the same hours: one of them gets these. */
  async function race(by: Party, { bookingId, ...from }: Moving, to: Slot): Promise<Slot> {
    const askedAt = performance.now();
    const [moved, requested] = await Promise.all([move(by, bookingId, to), request(to)]);
    if (requested.status === 201) store(Number(requested.body.id), to, askedAt, false);
    const isMoved = moved.status === 200 || isSamePlace(moved);
    const isTaken = moved.status === 422 && moved.body.error === 'SlotUnavailable';
    if (isMoved === (requested.status === 201) || !(isMoved || isTaken))
      broken.push(`A race of a move and a request: ${JSON.stringify([moved, requested])}`);
    return isMoved ? to : from;
  }

  return async () => {
    const [from, to] = [slot(), slot()];
    const askedAt = performance.now();
    const booked = await request(from);
    if (booked.status !== 201) {
      broken.push(`A free slot was refused: ${booked.status} ${JSON.stringify(booked.body)}`);
      return;
    }
    const bookingId = Number(booked.body.id);
    const asks = random.pick(PARTIES);
    const other = asks === 'brand' ? 'community' : 'brand';
    await ask(asks, booked, to);
    const ending = random.between(1, 4);
    let at = from;
    if (ending === 1) {
      await decline(other, bookingId);
      await expectFree(to, 'Hours of a declined move');
    } else if (ending === 2) {
      at = await race(other, { bookingId, ...from }, to);
      if (at === to) await expectFree(from, 'Hours that a booking has left');
    } else {
      const accepted = await move(other, bookingId, to);
      if (accepted.status === 200 || isSamePlace(accepted)) at = to;
      else broken.push(`The ${other} could not accept a move: ${JSON.stringify(accepted)}`);
      await expectFree(from, 'Hours that a booking has left');
    }
    store(bookingId, at, askedAt, at === to);
  };
}
