import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { type News, openNews } from '../../runtime/news.ts';
import { Wakeup } from '../../runtime/wakeup.ts';
import { DataVersion } from '../../sqlite/data-version.ts';

/** How often to check for commits by other processes, besides when the file system tells of one. A check takes about 2 µs. */
const POLL_INTERVAL_MS = 20;
/** The file system tells of a write to the file a moment before the commit that it belongs to can be seen. */
const SEEN_AFTER_MS = 1;

/**
 * Wakes the subscribers of the log: at once for commits of this process, within a millisecond or two for those of others. Where the
 * file system tells nothing, polling finds them.
 */
export class LogChanges {
  readonly #version: DataVersion;
  readonly #subscribers = new Set<Wakeup>();
  readonly #news: News<'committed'>;
  readonly #path: string;
  readonly #watches: boolean;
  #poll: NodeJS.Timeout | undefined;
  #watcher: FSWatcher | undefined;
  #soon: NodeJS.Timeout | undefined;

  /**
   * @param path of the log, by which the threads of this process find each other
   * @param watches whether the file system is to tell of commits by other processes: also of those of this one, which takes time
   */
  constructor(database: DatabaseSync, path: string, watches: boolean) {
    this.#version = new DataVersion(database);
    this.#path = path;
    this.#watches = watches;
    this.#news = openNews(`commits to ${path}`, () => this.#wakeAll());
  }

  subscribe(): Wakeup {
    const wakeup = new Wakeup();
    this.#subscribers.add(wakeup);
    this.#poll ??= setInterval(() => this.#check(), POLL_INTERVAL_MS);
    if (this.#watches) this.#watcher ??= this.#watch();
    return wakeup;
  }

  unsubscribe(wakeup: Wakeup): void {
    this.#subscribers.delete(wakeup);
    if (this.#subscribers.size > 0) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
    clearTimeout(this.#soon);
    this.#soon = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** The folder is watched, because the file with the last commits comes and goes. */
  #watch(): FSWatcher | undefined {
    const written = `${basename(this.#path)}-wal`;
    try {
      const watcher = watch(dirname(this.#path), { persistent: false }, (_, file) => {
        if (file !== written) return;
        this.#soon ??= setTimeout(() => {
          this.#soon = undefined;
          this.#check();
        }, SEEN_AFTER_MS);
      });
      return watcher.on('error', () => watcher.close());
    } catch {
      // No watches left, or a file system without them.
      return undefined;
    }
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
