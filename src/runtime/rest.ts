import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How often a thread looks whether it is at rest. */
const LOOK_EVERY_MS = 10_000;
/** The share of that time in which a thread at rest may have been busy. */
const AT_REST = 0.05;
/** A heap that has grown by less since the last time is left as it is, in bytes: collecting takes 20 to 90 ms. */
const WORTH_BYTES = 16 * 2 ** 20;

type CollectGarbage = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void;

/**
 * Collects the garbage of this thread whenever it comes to rest, and gives its memory back to the system: V8 does so by itself only
 * as long as a thread goes on allocating (docs/decisions/threads.md).
 */
export function collectAtRest({ lookEveryMs = LOOK_EVERY_MS } = {}): void {
  let before = performance.eventLoopUtilization();
  let leftBytes = 0;
  let collect: CollectGarbage | undefined;
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > AT_REST || getHeapStatistics().total_heap_size < leftBytes + WORTH_BYTES) return;
    collect ??= exposedCollect();
    collect({ type: 'major', flavor: 'last-resort' });
    leftBytes = getHeapStatistics().total_heap_size;
  }, lookEveryMs).unref();
}

/** It exists in contexts that are made while this flag is set. The flag is taken back: cached code is valid only for the same flags. */
function exposedCollect(): CollectGarbage {
  setFlagsFromString('--expose-gc');
  const collect: CollectGarbage = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return collect;
}
