import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';
import { closeStores, openStores, type Stores } from '../engines.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { type Invoked, tell } from './operation.ts';
import { progressBar } from './progress.ts';

/** Dependencies of work on the bare stores. */
export type Ambient = { readonly clock: Clock; readonly logger: Pick<Logger, 'warn'> };

/** Works on the stores directly, without the service. */
export async function onStores<R>(config: Config, work: (stores: Stores, ambient: Ambient) => Promise<R>): Promise<R> {
  const logger = pino({ level: config.logLevel }, pino.destination(2));
  const clock = systemClock(config.clockShift);
  const stores = await openStores(config, logger, { clock });
  try {
    return await work(stores, { logger, clock });
  } finally {
    await closeStores(stores);
  }
}

/** Shows progress without a known total. */
export const tellCount =
  (command: Invoked, what: string) =>
  ({ done }: { readonly done: number }): void =>
    tell(command, `${done.toLocaleString('en')} ${what}`);

export const progressBarOf = (command: Invoked) =>
  progressBar((text) => command.configureOutput().writeErr?.(text), process.stderr.isTTY === true);
