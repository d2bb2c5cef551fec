import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { type DeliveryDocument, deliveryCollection } from './delivery.ts';

export const dueOf = declareQuery(
  deliveryCollection,
  (webhookId: string, limit: number, to: Timestamp): Find<DeliveryDocument> => ({
    where: { state: 'Pending', webhookId, due: { to } },
    sort: [{ field: 'due' }],
    limit,
  }),
  ['wh_1', 10, toTimestamp(1)],
);

/** The first pending deliveries of the first registrations after `webhookId`. */
export const firstPendingAfter = declareQuery(
  deliveryCollection,
  (webhookId: string, limit: number): Find<DeliveryDocument> => ({
    where: { state: 'Pending', webhookId: { above: webhookId } },
    sort: [{ field: 'webhookId' }, { field: 'due' }],
    limit,
  }),
  ['', 1],
);

export const notDueBefore = declareQuery(
  deliveryCollection,
  (webhookId: string, from: Timestamp): Find<DeliveryDocument> => ({
    where: { state: 'Pending', webhookId, due: { from } },
  }),
  ['wh_1', toTimestamp(0)],
);

export const pendingInSequences = declareQuery(
  deliveryCollection,
  (webhookId: string, sequences: readonly string[]): Find<DeliveryDocument> => ({
    where: { state: 'Pending', webhookId, sequence: { in: sequences } },
  }),
  ['wh_1', ['booking-1', 'booking-2']],
);

export const pendingOf = declareQuery(
  deliveryCollection,
  (webhookId: string): Find<DeliveryDocument> => ({ where: { state: 'Pending', webhookId } }),
  ['wh_1'],
);

export const oldestPending = declareQuery(
  deliveryCollection,
  (): Find<DeliveryDocument> => ({ where: { state: 'Pending' }, sort: [{ field: 'createdAt' }], limit: 1 }),
  [],
);
