import type { EventStore } from '../../src/event-store/event-store.ts';
import { type EventStoreDbOptions, openEventStoreDb as open } from '../../src/event-store/eventstoredb/event-store.ts';
import { ownLog } from './own-log.ts';

/** What a service opens in a benchmark instead of the whole log: the part of it that `BENCH_LOG` describes. */
export const openEventStoreDb = async (options: EventStoreDbOptions): Promise<EventStore> =>
  ownLog(await open(options), JSON.parse(process.env.BENCH_LOG ?? ''));
