import { expect, test } from 'vitest';
import { type Figure, median, resultOf } from './figure.ts';
import { cellsOf, pageOf, textTable } from './report.ts';

const latency: Figure = { name: 'POST by one client, p50', unit: 'ms', ratioFloor: { atMost: 0.7 } };
const memory: Figure = { name: 'memory, idle', unit: 'MiB', floor: { atMost: 100 } };

const met = (own: readonly number[], other: readonly number[]) => resultOf(latency, { own, other }).met;

test('takes the mean of the two middle values of an even number of rounds for the median', () => {
  expect([median([1]), median([2, 1]), median([3, 1, 2]), median([4, 1, 3, 2])]).toEqual([1, 1.5, 2, 2.5]);
});

test('compares the rounds pairwise and judges the median of their ratios', () => {
  const result = resultOf(latency, { own: [1, 2, 9], other: [2, 2, 10] });
  expect(result).toMatchObject({
    own: { median: 2, range: [1, 9] },
    other: { median: 2, range: [2, 10] },
    ratio: { median: 0.9, range: [0.5, 1] },
  });
  expect(met([6, 7, 8], [10, 10, 10])).toBe('yes');
  expect(met([6, 8, 9], [10, 10, 10])).toBe('noise');
  expect(met([8, 8, 9], [10, 10, 10])).toBe('no');
});

test('judges a ratio only against another checkout, and a value always', () => {
  expect(resultOf(latency, { own: [1], other: [] })).not.toHaveProperty('met');
  expect(resultOf(latency, { own: [1], other: [1] }, false)).not.toHaveProperty('met');
  expect(resultOf(memory, { own: [101], other: [200] })).toMatchObject({ met: 'no', floor: { atMost: 100 } });
});

test('writes results as text and as a page', () => {
  const results = [
    { ...resultOf(latency, { own: [1.44, 2, 1.44], other: [2, 4, 2] }), disk: 'slow' },
    { ...resultOf(memory, { own: [123_456], other: [] }), disk: 'fast' },
  ] as const;
  expect(results.map(cellsOf)).toEqual([
    [
      'POST by one client, p50, slow disk',
      '1.44 (1.44–2) ms',
      '2 (2–4) ms',
      '0.72 (0.5–0.72) ×',
      '≤ 0.7',
      'within the noise',
    ],
    ['memory, idle', '123,456 MiB', '', '', '≤ 100', 'NO'],
  ]);
  expect(textTable(results).split('\n')).toHaveLength(3);
  const page = pageOf({ date: '2026-11-23', command: 'npm run bench', machine: { Node: 'v26' }, results });
  expect(page).toContain('- Node: v26');
  expect(page).toContain('| memory, idle | 123,456 MiB |  |  | ≤ 100 | NO |');
});
