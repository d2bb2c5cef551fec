import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How often a thread checks whether it is idle. */
const CHECK_EVERY_MS = 10_000;
/** An idle thread was busy for at most this share of the period. */
const AT_REST = 0.05;
/** Skip the collection if the heap has grown by fewer bytes than this: collecting takes 20 to 90 ms. */
const WORTH_BYTES = 16 * 2 ** 20;

type CollectGarbage = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void;

/**
 * Collects garbage when this thread becomes idle and returns the memory to the system. V8 itself does so only while a thread
 * allocates (docs/decisions/threads.md).
 */
export function collectAtRest({ lookEveryMs = CHECK_EVERY_MS } = {}): void {
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

/**
 * `gc` exists in contexts created while this flag is set. The flag is reset, because cached code is only valid for the same flags.
 */
function exposedCollect(): CollectGarbage {
  setFlagsFromString('--expose-gc');
  const collect: CollectGarbage = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return collect;
}
