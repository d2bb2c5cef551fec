import * as original from '../../src/event-loop/rounds.ts';
import { currentProcess } from './process.ts';

export { atNext } from '../../src/event-loop/rounds.ts';

/** Processes share wake-ups, because they share a thread: one that is dead does not go on, and one that is frozen does so later. */
const whileAlive = <Args extends readonly unknown[], R>(work: (...args: Args) => Promise<R>) => {
  const process = currentProcess();
  return async (...args: Args): Promise<R> => {
    await process.pass();
    return work(...args);
  };
};

export const untilNext: typeof original.untilNext = async (...args) => {
  const goOn = whileAlive(async () => {});
  await original.untilNext(...args);
  await goOn();
};
export const inRounds: typeof original.inRounds = (periodMs, signal, round) =>
  original.inRounds(periodMs, signal, whileAlive(round));
export const periodicJob: typeof original.periodicJob = (periodMs, round) =>
  original.periodicJob(periodMs, whileAlive(round));
