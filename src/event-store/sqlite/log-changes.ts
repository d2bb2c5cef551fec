import type { DatabaseSync } from 'node:sqlite';
import { type News, openNews } from '../../runtime/news.ts';
import { Wakeup } from '../../runtime/wakeup.ts';
import { DataVersion } from '../../sqlite/data-version.ts';

/** How often to check for commits by other processes. A check takes about 2 µs. */
const POLL_INTERVAL_MS = 20;

/** Wakes the subscribers of the log: at once for commits of this process, through polling for those of others. */
export class LogChanges {
  readonly #version: DataVersion;
  readonly #subscribers = new Set<Wakeup>();
  readonly #news: News<'committed'>;
  #poll: NodeJS.Timeout | undefined;

  /** @param path of the log, by which the threads of this process find each other */
  constructor(database: DatabaseSync, path: string) {
    this.#version = new DataVersion(database);
    this.#news = openNews(`commits to ${path}`, () => this.#wakeAll());
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

  /** Call after a commit on this connection. */
  committed(): void {
    this.#wakeAll();
    this.#news.tell('committed');
  }

  close(): void {
    this.#news.close();
  }

  #wakeAll(): void {
    for (const wakeup of this.#subscribers) wakeup.wake();
  }

  #check(): void {
    try {
      if (!this.#version.hasChanged()) return;
    } catch {
      // Wake them anyway: they will hit the same error when they read, and handle it.
    }
    this.#wakeAll();
  }
}
