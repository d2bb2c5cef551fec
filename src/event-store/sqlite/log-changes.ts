import type { DatabaseSync } from 'node:sqlite';
import { Wakeup } from '../../runtime/wakeup.ts';
import { DataVersion } from '../../sqlite/data-version.ts';

/** How often commits of other processes are looked for (a look takes about 2 µs). */
const POLL_MS = 20;

/** Wakes all who follow the log: at once for what this process writes, by polling for what others write. */
export class LogChanges {
  readonly #version: DataVersion;
  readonly #followers = new Set<Wakeup>();
  #poll: NodeJS.Timeout | undefined;

  constructor(database: DatabaseSync) {
    this.#version = new DataVersion(database);
  }

  follow(): Wakeup {
    const wakeup = new Wakeup();
    this.#followers.add(wakeup);
    this.#poll ??= setInterval(() => this.#look(), POLL_MS);
    return wakeup;
  }

  leave(wakeup: Wakeup): void {
    this.#followers.delete(wakeup);
    if (this.#followers.size > 0) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  announce(): void {
    for (const wakeup of this.#followers) wakeup.wake();
  }

  #look(): void {
    try {
      if (!this.#version.hasChanged()) return;
    } catch {
      // Whether the file can be read is found out, and handled, by those who read it.
    }
    this.announce();
  }
}
