import { afterAll, beforeAll, describe } from 'vitest';
import { type EnginePair, enginePairs } from '../engine-pairs.ts';
import { type RunningService, runService } from '../running-service.fixture.ts';

/** Defines tests for each pair of engines, with a service that has the clock of the machine, as the processes beside it have. */
export function onEachPair(define: (current: () => { pair: EnginePair; service: RunningService }) => void): void {
  describe.each(enginePairs)('on %s', (_, openPair) => {
    let pair: EnginePair;
    let service: RunningService;
    beforeAll(async () => {
      pair = await openPair();
      service = await runService(pair.settings);
      service.time.now = Date.now();
    });
    afterAll(async () => {
      await service.stop();
      await pair.stop();
    });
    define(() => ({ pair, service }));
  });
}
