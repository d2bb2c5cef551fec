import type { DatabaseSync } from 'node:sqlite';
import { Wakeup } from '../../runtime/wakeup.ts';
import { DataVersion } from '../../sqlite/data-version.ts';

/** How often to check for commits by other processes. A check takes about 2 µs. */
const POLL_INTERVAL_MS = 20;

/** Wakes the subscribers of the log: immediately for commits by this process, through polling for those by others. */
export class LogChanges {
  readonly #version: DataVersion;
  readonly #subscribers = new Set<Wakeup>();
  #poll: NodeJS.Timeout | undefined;

  constructor(database: DatabaseSync) {
    this.#version = new DataVersion(database);
  }

  subscribe(): Wakeup {
    const wakeup = new Wakeup();
    this.#subscribers.add(wakeup);
    this.#poll ??= setInterval(() => this.#check(), POLL_INTERVAL_MS);
    return wakeup;
  }

  unsubscribe(wakeup: Wakeup): void {
    this.#subscribers.delete(wakeup);
    if (this.#subscribers.size > 0) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  wakeAll(): void {
    for (const wakeup of this.#subscribers) wakeup.wake();
  }

  #check(): void {
    try {
      if (!this.#version.hasChanged()) return;
    } catch {
      // Wake them anyway: they will hit the same error when they read, and handle it.
    }
    this.wakeAll();
  }
}
