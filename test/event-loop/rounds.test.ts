import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { inRounds, untilNext } from '../../src/event-loop/rounds.ts';

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
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_010);
    onTestFinished(() => {
      vi.useRealTimers();
      now.mockRestore();
    });
    // A module of its own, because it remembers its last wake-up.
    vi.resetModules();
    const rounds = await import('../../src/event-loop/rounds.ts');
    const stopping = new AbortController();
    let ran = 0;
    const running = rounds.inRounds(50, stopping.signal, async () => {
      ran += 1;
    });
    const waitedMs: number[] = [];
    for (const at of [1_050, 1_100, 1_150]) {
      const before = Date.now();
      now.mockReturnValue(at - 3);
      await vi.advanceTimersToNextTimerAsync();
      waitedMs.push(Date.now() - before);
    }
    expect(ran).toBe(3);
    expect(waitedMs).toEqual([40, 53, 53]);
    stopping.abort();
    await running;
  });

  it('end when they are stopped between two rounds', async () => {
    const stopping = new AbortController();
    const running = inRounds(3_600_000, stopping.signal, async () => {});
    stopping.abort();
    await running;
    await untilNext(3_600_000, stopping.signal);
  });
});
