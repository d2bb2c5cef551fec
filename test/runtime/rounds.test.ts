import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inRounds, untilNext } from '../../src/runtime/rounds.ts';

const turn = () => performance.nodeTiming.uvMetricsInfo.loopCount;

describe('periodic jobs', () => {
  it('share their wake-ups', async () => {
    const stopping = new AbortController();
    const often: number[] = [];
    const rarely: number[] = [];
    const running = [
      inRounds(10, stopping.signal, async () => often.push(turn())),
      inRounds(20, stopping.signal, async () => rarely.push(turn())),
    ];
    while (rarely.length < 20) await sleep(10);
    stopping.abort();
    await Promise.all(running);
    expect(often).toEqual(expect.arrayContaining(rarely));
  });

  it('run once per multiple of their period, even if a timer fires early', async () => {
    const stopping = new AbortController();
    const multiples: number[] = [];
    // A timer may fire up to some milliseconds early, never half a period.
    const running = inRounds(50, stopping.signal, async () => multiples.push(Math.round(performance.now() / 50)));
    while (multiples.length < 10) await sleep(10);
    stopping.abort();
    await running;
    expect(new Set(multiples).size).toBe(multiples.length);
  });

  it('end when they are stopped between two rounds', async () => {
    const stopping = new AbortController();
    const running = inRounds(3_600_000, stopping.signal, async () => {});
    stopping.abort();
    await running;
    await untilNext(3_600_000, stopping.signal);
  });
});
