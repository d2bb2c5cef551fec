import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredEvent } from '../../src/event-store/event-store.ts';
import { LogUnavailable, Unavailable } from '../../src/runtime/unavailable.ts';
import type { Random } from '../soak/random.ts';
import type { Watch } from '../webhooks/watched-documents.ts';
import type { Fault } from './plan.ts';
import type { Process } from './process.ts';

type CallFault = Extract<Fault, { fault: 'calls' }>;
type GroupFault = Extract<Fault, { fault: 'group' }>;

/** No adapter leaves a caller without an answer for longer. */
const HANGS_FOR_MS = { from: 2_000, to: 40_000 };
const SLOW_MS = { from: 50, to: 3_000 };
const USUAL_MS = { from: 1, to: 20 };

type Step = { readonly hit: CallFault['how'] | undefined; readonly isBefore: boolean; readonly isLate: boolean };

/** How the calls between processes and stores go. */
export class Faults {
  readonly #random: Random;
  readonly #calls = new Set<CallFault>();
  readonly #groups = new Set<GroupFault>();

  constructor(random: Random) {
    this.#random = random;
  }

  begin(fault: CallFault | GroupFault): void {
    if (fault.fault === 'calls') this.#calls.add(fault);
    else this.#groups.add(fault);
  }

  end(fault: CallFault | GroupFault): void {
    if (fault.fault === 'calls') this.#calls.delete(fault);
    else this.#groups.delete(fault);
  }

  /** What happens before and after each call of a process: usually nothing. */
  watch(process: Process, store: CallFault['store']): Watch {
    const step = (isBefore: boolean): Promise<void> | undefined => {
      const hit = this.#hits(process, store, isBefore);
      const isLate = hit !== undefined || this.#random.between(0, 19) === 0;
      return isLate || !process.isRunning ? this.#delay(process, store, { hit, isBefore, isLate }) : undefined;
    };
    return { before: () => step(true), after: () => step(false) };
  }

  async #delay(process: Process, store: CallFault['store'], { hit, isBefore, isLate }: Step): Promise<void> {
    await process.pass();
    const { from, to } = hit === 'hangs' ? HANGS_FOR_MS : hit === 'is slow' ? SLOW_MS : USUAL_MS;
    if (isLate) await sleep(this.#random.between(from, to));
    await process.pass();
    if (hit === undefined || hit === 'is slow') return;
    const problem = isBefore ? 'The store cannot be reached' : 'The answer was lost';
    throw store === 'events' ? new LogUnavailable(problem) : new Unavailable(problem);
  }

  #hits(process: Process, store: CallFault['store'], isBefore: boolean): CallFault['how'] | undefined {
    for (const { how, percent, store: of, process: index } of this.#calls) {
      if (of !== store || (index !== undefined && index !== process.index)) continue;
      if ((how === 'fails' && !isBefore) || (how === 'loses answers' && isBefore)) continue;
      if (this.#random.between(1, 100) <= percent) return how;
    }
    return undefined;
  }

  /** What a consumer group hands out. */
  readonly handOut = (events: readonly StoredEvent[]): readonly StoredEvent[] =>
    [...this.#groups].reduce<readonly StoredEvent[]>((given, { how }) => {
      if (how === 'forgets') return given.filter(() => this.#random.between(0, 1) === 0);
      if (how === 'repeats') return given.flatMap((event) => [event, ...(this.#random.between(0, 1) ? [event] : [])]);
      return given.toReversed();
    }, events);
}
