import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  type FSWatcher,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  watch,
} from 'node:fs';
import { join } from 'node:path';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** How often a process shows that it is there, and looks for others. */
const LOOK_EVERY_MS = 1_000;
/** A process that has not shown itself for this long, by the clock of the file system, is taken for gone. */
const GONE_AFTER_MS = 5_000;

/**
 * Processes that share a folder wake each other: whoever has changed something rings, and the others hear it at once. A hint only,
 * on which nothing may rely: a process that has only just come is not heard for a second, and on a file system that tells nothing
 * nobody hears anything. A process that is alone neither rings nor listens.
 */
export type Bells = {
  ring(): void;
  close(): void;
};

/**
 * @param folder for the bells alone, created if absent
 * @param heard called when another process rings
 * @param own the name of the bell, which the threads of this process share
 */
export function openBells(folder: string, heard: () => void, own = ownName()): Bells {
  const bell = join(folder, own);
  let areOthers = false;
  let watcher: FSWatcher | undefined;

  function look(): void {
    try {
      touch(folder, bell);
      const now = statSync(bell).mtimeMs;
      areOthers = false;
      for (const name of readdirSync(folder)) {
        if (name === own) continue;
        const silentMs = now - (statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0);
        if (silentMs < GONE_AFTER_MS) areOthers = true;
        else if (silentMs > 10 * GONE_AFTER_MS) rmSync(join(folder, name), { force: true });
      }
    } catch {
      // Not to be written to, or gone. Whoever waits will find out by other means.
      areOthers = false;
    }
    if (areOthers) watcher ??= listen();
    else stopListening();
  }

  function listen(): FSWatcher | undefined {
    try {
      const listening = watch(folder, { persistent: false }, (_, name) => {
        if (name !== own) heard();
      });
      return listening.on('error', stopListening);
    } catch {
      // No watches left, or a file system without them.
      return undefined;
    }
  }

  function stopListening(): void {
    watcher?.close();
    watcher = undefined;
  }

  look();
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();

  return {
    ring() {
      if (!areOthers) return;
      try {
        touch(folder, bell);
      } catch {
        // The next look makes it anew.
      }
    },
    close() {
      clearInterval(timer);
      stopListening();
    },
  };
}

/** Dates a bell by the clock of the file system, of which a watcher hears. */
function touch(folder: string, bell: string): void {
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
  closeSync(openSync(bell, 'w', 0o600));
}

const KEY = 'name of the bell';

/** The threads of a process share a bell. Process ids would not do: those of two containers may be the same. */
function ownName(): string {
  const known: unknown = getEnvironmentData(KEY);
  if (typeof known === 'string') return known;
  const name = randomUUID();
  setEnvironmentData(KEY, name);
  return name;
}
