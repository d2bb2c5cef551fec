import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { type Fault, PROCESSES } from './plan.ts';
import { DATA_DIR, Process, type Reach } from './process.ts';

export const CONFIG = readConfig({
  DATA_DIR,
  DEMO: 'false',
  SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  WEBHOOKS_ALLOW_PRIVATE: 'true',
  SMTP_URL: 'smtp://127.0.0.1',
  MAIL_FROM: 'Bookings <bookings@venue.example>',
  // Requests come to the commands: nothing listens.
  ROLES: 'projector,webhooks,scheduler,mail',
});
/** How soon a process is started again that could not start. */
const START_AGAIN_MS = 2_000;
/** A process that has not stopped by then ends (src/serve.ts). */
const STOPS_WITHIN_MS = 9_000;

type Slot = {
  readonly index: number;
  process: Process | undefined;
  clockErrorMs: number;
  /** How many faults keep it from being started. */
  isHeldDown: number;
};

/** The machines and their processes, each started again when it ends. */
export class Fleet {
  readonly #slots: readonly Slot[] = Array.from({ length: PROCESSES }, (_, index) => ({
    index,
    process: undefined,
    clockErrorMs: 0,
    isHeldDown: 0,
  }));
  readonly #reach: Reach;
  readonly #logger: Logger;
  readonly #clock: () => number;
  #isOver = false;

  constructor(reach: Reach, logger: Logger, clock: () => number) {
    this.#reach = reach;
    this.#logger = logger;
    this.#clock = clock;
  }

  start(): void {
    for (const slot of this.#slots) this.#start(slot);
  }

  /** Ends all processes. */
  end(): void {
    this.#isOver = true;
    for (const { process } of this.#slots) process?.kill();
  }

  /** The processes that take requests, the one at an index first. */
  from(index: number): readonly Process[] {
    const inTurn = this.#slots.map((_, n) => this.#slots[(index + n) % PROCESSES]?.process);
    return inTurn.flatMap((process) => (process?.service === undefined ? [] : [process]));
  }

  begin(fault: Fault): void {
    if (!('process' in fault)) return;
    const slot = this.#slots[fault.process ?? 0];
    if (slot === undefined) return;
    const { process } = slot;
    if (fault.fault === 'kill' || fault.fault === 'stop') {
      slot.isHeldDown += 1;
      if (fault.fault === 'kill') process?.kill();
      else if (process !== undefined) void this.#stop(process);
    } else if (fault.fault === 'freeze') {
      process?.freeze();
    } else if (fault.fault === 'clock') this.#moveClock(slot, fault.byMs);
  }

  finish(fault: Fault): void {
    if (!('process' in fault)) return;
    const slot = this.#slots[fault.process ?? 0];
    if (slot === undefined) return;
    if (fault.fault === 'kill' || fault.fault === 'stop') {
      slot.isHeldDown -= 1;
      if (slot.isHeldDown === 0) this.#start(slot);
    } else if (fault.fault === 'freeze') slot.process?.thaw();
    else if (fault.fault === 'clock') this.#moveClock(slot, -fault.byMs);
  }

  #moveClock(slot: Slot, byMs: number): void {
    slot.clockErrorMs += byMs;
    if (slot.process !== undefined) slot.process.clockErrorMs = slot.clockErrorMs;
  }

  #start(slot: Slot): void {
    if (this.#isOver || slot.isHeldDown > 0) return;
    slot.process?.kill();
    const process = new Process(slot.index, slot.clockErrorMs, this.#reach);
    slot.process = process;
    process.start(startService, CONFIG, this.#logger, this.#clock).catch(async () => {
      process.kill();
      await sleep(START_AGAIN_MS);
      if (slot.process === process) this.#start(slot);
    });
  }

  async #stop(process: Process): Promise<void> {
    const { service } = process;
    process.service = undefined;
    await Promise.race([process.run(() => service?.stop())?.catch(() => {}), sleep(STOPS_WITHIN_MS)]);
    process.kill();
  }
}
