import { Session } from 'node:inspector';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** How often a thread checks whether it is idle. */
const CHECK_EVERY_MS = 10_000;
/** An idle thread was busy for at most this share of the period. */
const AT_REST = 0.05;
/** Skip the collection if the heap has grown by fewer bytes than this: collecting takes 20 to 90 ms. */
const WORTH_BYTES = 16 * 2 ** 20;

/**
 * Collects garbage when this thread becomes idle and returns the memory to the system. V8 itself does so only while a thread
 * allocates (docs/decisions/processes.md): without this, a process keeps more than 200 MiB after a burst of 100,000 bookings. The test is
 * test/event-loop/rest.test.ts.
 */
export function collectAtRest({ lookEveryMs = CHECK_EVERY_MS } = {}): void {
  let before = performance.eventLoopUtilization();
  let leftBytes = 0;
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > AT_REST || getHeapStatistics().total_heap_size < leftBytes + WORTH_BYTES) return;
    collectGarbage(() => {
      leftBytes = getHeapStatistics().total_heap_size;
    });
  }, lookEveryMs).unref();
}

/**
 * Collects all garbage of this thread in a later task, then calls `done`. `gc()` would need a V8 flag of the whole process, which two
 * threads must not change at the same time.
 */
function collectGarbage(done: () => void): void {
  const session = new Session();
  session.connect();
  session.post('HeapProfiler.collectGarbage', () => {
    done();
    // Disconnecting a worker's session inside its callback never returns.
    setImmediate(() => session.disconnect());
  });
}
