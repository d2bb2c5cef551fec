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
/** How long the file system is asked to tell of writes after another process has committed. */
const WATCH_MS = 30_000;

/**
 * Wakes the subscribers of the log: at once for commits of this process, within a millisecond or two for those of others that keep
 * committing. Polling finds the first of those, and all where the file system tells nothing.
 */
export class LogChanges {
  readonly #version: DataVersion;
  readonly #subscribers = new Set<Wakeup>();
  readonly #news: News<'committed' | 'noted'>;
  readonly #path: string;
  readonly #watches: boolean;
  #count = 0;
  #poll: NodeJS.Timeout | undefined;
  #watcher: FSWatcher | undefined;
  #watchUntil = Number.NEGATIVE_INFINITY;
  /** Since the last poll: whether the file has changed, and whether this process has told of a commit. */
  #hasChanged = false;
  #isTold = false;
  /** The file had changed before that, and nobody had told of it. */
  #isSuspect = false;
  #soon: NodeJS.Timeout | undefined;

  /**
   * @param path of the log, by which the threads of this process find each other
   * @param watches whether the file system may be asked to tell of commits by other processes. It tells of those of this one, too,
   *   which wakes this thread for each, so it is asked only while there are others.
   */
  constructor(database: DatabaseSync, path: string, watches: boolean) {
    this.#version = new DataVersion(database);
    this.#path = path;
    this.#watches = watches;
    this.#news = openNews(`commits to ${path}`, (told) => {
      this.#isTold = true;
      if (told === 'committed') this.#wakeAll();
    });
  }

  /** Counts the times at which the log may have changed. */
  get count(): number {
    return this.#count;
  }

  subscribe(): Wakeup {
    const wakeup = new Wakeup();
    this.#subscribers.add(wakeup);
    this.#poll ??= setInterval(() => this.#look(), POLL_INTERVAL_MS);
    return wakeup;
  }

  unsubscribe(wakeup: Wakeup): void {
    this.#subscribers.delete(wakeup);
    if (this.#subscribers.size > 0) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
    clearTimeout(this.#soon);
    this.#soon = undefined;
    this.#stopWatching();
  }

  #look(): void {
    this.#check();
    // What a thread of this process has committed it has told by now.
    if (this.#isSuspect && !this.#isTold) this.#watchUntil = performance.now() + WATCH_MS;
    this.#isSuspect = this.#hasChanged && !this.#isTold;
    this.#hasChanged = false;
    this.#isTold = false;
    if (this.#watches && performance.now() < this.#watchUntil) this.#watcher ??= this.#watch();
    else if (this.#watcher !== undefined) this.#stopWatching();
  }

  #stopWatching(): void {
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

  /** Call after a commit on this connection that subscribers wait for. */
  committed(): void {
    this.#isTold = true;
    this.#wakeAll();
    this.#news.tell('committed');
  }

  /** Call after any other, so that no thread takes it for one of another process. */
  noted(): void {
    this.#isTold = true;
    this.#news.tell('noted');
  }

  close(): void {
    this.#news.close();
  }

  #wakeAll(): void {
    this.#count += 1;
    for (const wakeup of this.#subscribers) wakeup.wake();
  }

  #check(): void {
    try {
      if (!this.#version.hasChanged()) return;
      this.#hasChanged = true;
    } catch {
      // Wake them anyway: they will hit the same error when they read, and handle it.
    }
    this.#wakeAll();
  }
}
