import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Figure } from './figure.ts';
import { quotedIn, type Run, reportOf } from './report.ts';

const fast: Figure = {
  name: 'GET availability',
  value: 20_123.4,
  unit: '/s',
  ceiling: { what: 'bare Fastify route', value: 22_000 },
  ratio: 0.914,
  ranges: { value: [19_000, 21_000], ceiling: [21_500, 22_500], ratio: [0.88, 0.95] },
  aim: { atLeast: 0.9 },
};
const slow: Figure = {
  name: 'event to delivery, idle, p99 <b>',
  value: 12.34,
  unit: 'ms',
  ranges: { value: [9.8, 14] },
  aim: { below: 10 },
};
const plain: Figure = { name: 'webhook deliveries, from the log', value: 0.5, unit: '/s' };
const run: Run = {
  date: '2026-11-21',
  command: 'npm run bench -- --report',
  machine: { Machine: '2 × Made up', Node: 'v26.0.0' },
  figures: [fast, slow, plain, { name: 'on EventStoreDB and MongoDB', notMeasured: 'EVENTSTORE_URL is not set' }],
};

describe('the report on a run', () => {
  const { page, quote, plots } = reportOf(run);

  test('says when, on what and by which command it was written', () => {
    expect(page).toMatch(/^# Benchmarks\n\nWritten by `npm run bench -- --report` on 2026-11-21\. /);
    expect(page).toContain('- Machine: 2 × Made up\n- Node: v26.0.0\n');
  });

  test('shows each figure beside its ceiling, as medians with their ranges, and whether it reaches its aim', () => {
    expect(quote.split('\n')).toEqual([
      '| Figure | Measured | Baseline, in the same run | Ratio | Aim | Met | What limits it now |',
      '| --- | --- | --- | --- | --- | --- | --- |',
      expect.stringContaining(
        '| GET availability | 20,123 (19,000–21,000) /s | 22,000 (21,500–22,500) /s, bare Fastify route | 0.91 (0.88–0.95) | ≥ 0.9 | yes | HTTP itself: ',
      ),
      expect.stringContaining('| event to delivery, idle, p99 <b> | 12.3 (9.8–14) ms |  |  | < 10 | NO | the commit'),
    ]);
    expect(page).toContain(quote);
    expect(page).toContain('| webhook deliveries, from the log | 0.5 /s |  |  |  |  | one thread reads the event, ');
  });

  test('says what was not measured and why', () => {
    expect(page).toContain('## Not measured\n\n- on EventStoreDB and MongoDB: EVENTSTORE_URL is not set\n');
    expect(reportOf({ ...run, figures: [fast] }).page).toContain('Nothing was left out.');
  });

  test('has a plot of the ratios and one of the figures as a share of their aim', () => {
    expect(Object.keys(plots)).toEqual(['benchmarks/ratios.svg', 'benchmarks/shares.svg']);
    for (const [path, svg] of Object.entries(plots)) {
      expect(page).toContain(`](${path})`);
      expect(svg).toMatch(
        /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^>]*aria-label="[^"]+"[^>]*>\n[\s\S]*<\/svg>\n$/,
      );
      expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    }
    expect(plots['benchmarks/ratios.svg']).toContain('GET availability');
    expect(plots['benchmarks/ratios.svg']).not.toContain('event to delivery');
    expect(plots['benchmarks/shares.svg']).toContain('p99 &lt;b&gt;');
  });

  test('is quoted in README, whatever was quoted before', () => {
    const readme = 'a\n<!-- benchmarks: written by npm run bench -- --report -->\nold\n<!-- /benchmarks -->\nb\n';
    const once = quotedIn(readme, run, quote);
    expect(once).toContain(
      `Measured on 2026-11-21: Machine 2 × Made up, Node v26.0.0.\n\n${quote}\n<!-- /benchmarks -->\nb\n`,
    );
    expect(once).not.toContain('old');
    expect(quotedIn(once, run, quote)).toBe(once);
    expect(() => quotedIn('nothing', run, quote)).toThrow('README lacks');
  });
});

test('what README quotes is what the report says', () => {
  const root = new URL('../..', import.meta.url).pathname;
  const readme = readFileSync(`${root}README.md`, 'utf8');
  const [, quoted = ''] = /<!-- benchmarks: [^>]+-->\n[^|]*([\s\S]*?)<!-- \/benchmarks -->/.exec(readme) ?? [];
  expect(quoted.trim()).not.toBe('');
  expect(existsSync(`${root}docs/benchmarks.md`)).toBe(true);
  expect(readFileSync(`${root}docs/benchmarks.md`, 'utf8')).toContain(quoted.trim());
});
