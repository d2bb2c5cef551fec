import type { DatabaseSync } from 'node:sqlite';
import { type Bells, openBells } from '../../runtime/bells.ts';
import { type News, openNews } from '../../runtime/news.ts';
import { Wakeup } from '../../runtime/wakeup.ts';
import { DataVersion } from '../../sqlite/data-version.ts';

/** How often to check for commits by other processes, besides when one of them rings. A check takes about 2 µs. */
const POLL_INTERVAL_MS = 20;

/** Wakes the subscribers of the log: at once for commits of this process, and for those of others that can ring. */
export class LogChanges {
  readonly #version: DataVersion;
  readonly #subscribers = new Set<Wakeup>();
  readonly #bells: Bells;
  readonly #path: string;
  /** Open only while this thread subscribes or commits: whoever does neither is not woken by every commit. */
  #news: News<'committed'> | undefined;
  #poll: NodeJS.Timeout | undefined;
  #count = 0;

  /** @param path of the log, by which the threads of this process find each other */
  constructor(database: DatabaseSync, path: string) {
    this.#version = new DataVersion(database);
    this.#path = path;
    this.#bells = openBells(`${path}-bells`, () => this.#check());
  }

  /** Counts the times at which the log may have changed. */
  get count(): number {
    return this.#count;
  }

  subscribe(): Wakeup {
    const wakeup = new Wakeup();
    this.#subscribers.add(wakeup);
    // Until now nobody may have looked.
    this.#count += 1;
    this.#poll ??= setInterval(() => this.#check(), POLL_INTERVAL_MS);
    this.#hearNews();
    return wakeup;
  }

  unsubscribe(wakeup: Wakeup): void {
    this.#subscribers.delete(wakeup);
    if (this.#subscribers.size > 0) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
    this.#closeNews();
  }

  /** Call after a commit on this connection. */
  committed(): void {
    this.#wakeAll();
    this.#hearNews().tell('committed');
    this.#bells.ring();
  }

  close(): void {
    this.#bells.close();
    this.#closeNews();
  }

  #hearNews(): News<'committed'> {
    this.#news ??= openNews(`commits to ${this.#path}`, () => this.#wakeAll());
    return this.#news;
  }

  #closeNews(): void {
    this.#news?.close();
    this.#news = undefined;
  }

  #wakeAll(): void {
    this.#count += 1;
    for (const wakeup of this.#subscribers) wakeup.wake();
  }

  #check(): void {
    if (this.#subscribers.size === 0) return;
    try {
      if (!this.#version.hasChanged()) return;
    } catch {
      // Wake them anyway: they will hit the same error when they read, and handle it.
    }
    this.#wakeAll();
  }
}
