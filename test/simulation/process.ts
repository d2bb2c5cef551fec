import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Service, startService } from '../../src/app.ts';
import type { Config } from '../../src/config.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import type { Lease } from '../../src/leases/lease.ts';
import type { MailSender } from '../../src/mail/sender.ts';
import type { Sender } from '../../src/webhooks/send/sender.ts';
import { type Machine, machine, virtualNow } from './virtual-time.ts';

/** Where nothing is written. */
export const DATA_DIR = join(tmpdir(), 'venue-simulation');
/**
 * How much faster the calendar goes than what processes measure: heartbeats, polls and answers. A second of theirs is ten minutes, so
 * that a month is 72 minutes of heartbeats.
 */
export const RATE = 600;

/** What a process reaches outside of itself. */
export type Reach = {
  readonly openEvents: (process: Process) => OperatedEventStore;
  readonly openDocuments: (process: Process) => OperatedDocumentStore;
  readonly post: (process: Process, ...args: Parameters<Sender['post']>) => ReturnType<Sender['post']>;
  readonly sendMail: (process: Process, ...args: Parameters<MailSender['send']>) => ReturnType<MailSender['send']>;
  readonly acquired: (process: Process, name: string, lease: Lease) => void;
};

/** One process of the service, from its start to its end. */
export class Process implements Machine {
  clockErrorMs: number;
  isDead = false;
  service: Service | undefined;
  readonly index: number;
  readonly #reach: Reach;
  /** When it last went on after it was frozen. */
  thawedAt = Number.NEGATIVE_INFINITY;
  #frozen: PromiseWithResolvers<void> | undefined;

  constructor(index: number, clockErrorMs: number, reach: Reach) {
    this.index = index;
    this.clockErrorMs = clockErrorMs;
    this.#reach = reach;
  }

  openEvents = () => this.#reach.openEvents(this);
  openDocuments = () => this.#reach.openDocuments(this);
  post: Sender['post'] = (...args) => this.#reach.post(this, ...args);
  sendMail: MailSender['send'] = (...args) => this.#reach.sendMail(this, ...args);
  acquired = (name: string, lease: Lease) => this.#reach.acquired(this, name, lease);

  /** @throws if a store fails meanwhile: the process then ends */
  async start(startIt: typeof startService, config: Config, logger: Logger, clock: () => number): Promise<void> {
    this.service = await this.run(() => startIt(config, logger, { clock }));
  }

  /** Runs code on its machine. */
  run<T>(work: () => T): T {
    return machine.run(this, work);
  }

  kill(): void {
    this.isDead = true;
    this.service = undefined;
  }

  /** As by SIGSTOP: it goes on where it stopped once it thaws. */
  freeze(): void {
    this.#frozen ??= Promise.withResolvers();
  }

  thaw(): void {
    this.#frozen?.resolve();
    this.#frozen = undefined;
    this.thawedAt = virtualNow();
  }

  get isRunning(): boolean {
    return !this.isDead && this.#frozen === undefined;
  }

  /** Every call to the outside and every answer passes here: not while the process is frozen, and never once it is dead. */
  async pass(): Promise<void> {
    while (this.#frozen !== undefined) await this.#frozen.promise;
    if (this.isDead) await new Promise(() => {});
  }
}

/** The process whose code is running. */
export function currentProcess(): Process {
  const current = machine.getStore();
  if (current instanceof Process) return current;
  throw new Error('No process of the simulation is running');
}

/** The calendar: milliseconds since the epoch. It begins with each simulation. */
export class Calendar {
  readonly #begin: number;
  readonly #since = virtualNow();

  constructor(begin: number) {
    this.#begin = begin;
  }

  readonly now = (): number => this.#begin + (virtualNow() - this.#since) * RATE;
  /** What a machine takes it for. */
  readonly onMachine = (): number => this.now() + (machine.getStore()?.clockErrorMs ?? 0);
}
