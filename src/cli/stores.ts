import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';
import { COMMAND_STARTS_WITHIN_MS, closeStores, openStores, type Stores } from '../engines.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';

/** Dependencies of work on the bare stores. */
export type Ambient = { readonly clock: Clock; readonly logger: Pick<Logger, 'warn'> };

/** Works on the stores directly, without the service. */
export async function onStores<R>(config: Config, work: (stores: Stores, ambient: Ambient) => Promise<R>): Promise<R> {
  const logger = pino({ level: config.logLevel }, pino.destination(2));
  const clock = systemClock(config.clockShift);
  const stores = await openStores(config, logger, { clock, startWithinMs: COMMAND_STARTS_WITHIN_MS });
  try {
    return await work(stores, { logger, clock });
  } finally {
    await closeStores(stores);
  }
}
