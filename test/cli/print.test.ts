import { expect, test } from 'vitest';
import { fields, table } from '../../src/cli/print.ts';

test('prints very long lists', () => {
  const lines = table(Array.from({ length: 200_000 }, (_, id) => ({ Id: id, Brand: 'Acme' }))).split('\n');
  expect(lines).toHaveLength(200_001);
  expect(lines[0]).toBe('    Id  Brand');
  expect(lines[1]).toBe('     0  Acme');
});

test('user text cannot control the terminal', () => {
  const written = 'Red \u001b[31mhall\u009b2J\nsecond line';
  expect(table([{ Name: written }])).toBe('Name\nRed  [31mhall 2J second line');
  expect(fields({ Name: written })).toBe('Name  Red  [31mhall 2J second line');
});

test('names in any script are aligned in columns', () => {
  const names = ['Acme', '東京カフェ', 'مَقْهَى', 'Café', 'Cafe\u0301', '👩‍👩‍👧‍👦 Family', '🇯🇵', 'ﾊﾝｶｸ', 'नमस्ते', '한국'];
  const lines = table(names.map((Name) => ({ Name, Id: 7 }))).split('\n');
  // The widths are those of `wcwidth`, except for the joined emoji, whose four parts it adds up while terminals draw one.
  const drawn = [4, 10, 4, 4, 4, 9, 2, 4, 4, 4];
  expect(lines).toEqual([
    'Name        Id',
    ...names.map((name, index) => `${name}${' '.repeat(10 - (drawn[index] ?? 0))}   7`),
  ]);
});
