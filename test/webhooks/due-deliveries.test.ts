import fc from 'fast-check';
import { expect, test } from 'vitest';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import type { Stored } from '../../src/document-store/document-store.ts';
import { timestamp, webhookId } from '../../src/domain/ids.ts';
import { type DeliveryDocument, newDelivery } from '../../src/webhooks/delivery.ts';
import { DueDeliveries } from '../../src/webhooks/due-deliveries.ts';
import { approved } from './deliverable-events.ts';

type Delivery = Stored<DeliveryDocument>;

/** The delivery of an event at this position of the log. */
function delivery(position: number, bookingId: number): Delivery {
  const eventOf = { webhookId: webhookId('wh_a'), account: 'Brand:9', eventId: `e${position}` } as const;
  const at = { ...eventOf, position: String(position).padStart(3, '0') };
  const document = newDelivery({ ...at, ...noticeOf(approved({ bookingId })) }, 0);
  return { key: document.deliveryId, version: 1, document };
}

const positionOf = ({ document }: Delivery) => Number(document.position);

/** The steps of an endpoint: a read adds a delivery, an attempt starts, or an attempt in flight ends. */
const action = fc.record({
  kind: fc.constantFrom('look' as const, 'look' as const, 'start' as const, 'finish' as const),
  at: fc.nat(99),
});

test('sends each delivery once, one per booking at a time, the lowest available position first', () => {
  const all = Array.from({ length: 12 }, (_, position) => delivery(position, position % 4));
  fc.assert(
    fc.property(fc.array(action, { maxLength: 120, size: 'max' }), (actions) => {
      const due = new DueDeliveries();
      const here = new Set<Delivery>();
      const inFlight: Delivery[] = [];
      const sent = new Set<Delivery>();
      const pick = (at: number) => all[at % all.length];
      for (const { kind, at } of actions) {
        const chosen = pick(at);
        if (chosen === undefined) continue;
        if (kind === 'look' && !sent.has(chosen)) {
          // Unsent deliveries are pending in the store.
          due.add(chosen);
          if (!inFlight.includes(chosen)) here.add(chosen);
        } else if (kind === 'start') {
          const next = due.next();
          const isFree = ({ document }: Delivery) =>
            !inFlight.some((other) => other.document.sequence === document.sequence);
          expect(next !== undefined).toBe([...here].some(isFree));
          if (next === undefined) continue;
          expect(isFree(next)).toBe(true);
          for (const other of here)
            if (other.document.sequence === next.document.sequence)
              expect(positionOf(other)).toBeGreaterThanOrEqual(positionOf(next));
          due.start(next);
          here.delete(next);
          inFlight.push(next);
        } else {
          const [ended] = inFlight.splice(at % Math.max(1, inFlight.length), 1);
          if (ended === undefined) continue;
          expect(sent).not.toContain(ended);
          sent.add(ended);
          due.finish(ended);
        }
        expect(due.waiting).toBe(here.size);
        expect(due.inFlight).toBe(inFlight.length);
      }
    }),
  );
});

test('decides by queue, so a prioritised delivery brings forward the earlier ones of its booking', () => {
  const due = new DueDeliveries();
  for (const [position, booking] of [
    [3, 1],
    [1, 2],
    [2, 2],
  ] as const)
    due.add(delivery(position, booking));
  const next = due.next((queue) => queue.some(({ document }) => document.position === '002'));
  expect(next?.document.position).toBe('001');
  due.clear();
  expect([due.waiting, due.next()]).toEqual([0, undefined]);
});

test('deliveries of before positions were stored go out as they were created, and those of one moment by their ids', () => {
  const without = (n: number, createdAt: string): Delivery => {
    const { key, version, document } = delivery(n, 1);
    const { position: _, ...rest } = document;
    return { key, version, document: { ...rest, createdAt: timestamp(createdAt) } };
  };
  const [early, late] = ['2026-12-01T12:00:00.000Z', '2026-12-01T12:00:01.000Z'];
  const inOrder = [without(9, early), without(3, late), without(4, late), delivery(1, 1)];
  for (const some of [inOrder, inOrder.toReversed()]) {
    const due = new DueDeliveries();
    for (const one of some) due.add(one);
    const sent: Delivery[] = [];
    for (let next = due.next(); next !== undefined; next = due.next()) {
      due.start(next);
      due.finish(next);
      sent.push(next);
    }
    expect(sent.map(({ key }) => key)).toEqual(inOrder.map(({ key }) => key));
  }
});
