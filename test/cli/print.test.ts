import { expect, test } from 'vitest';
import { textOf } from '../../src/cli/print.ts';

test('prints very long lists', () => {
  const lines = textOf(Array.from({ length: 200_000 }, (_, id) => ({ id, brand: 'Acme' }))).split('\n');
  expect(lines).toHaveLength(200_001);
  expect(lines[0]).toBe('    id  brand');
  expect(lines[1]).toBe('     0  Acme');
});

test('user text cannot control the terminal', () => {
  const name = 'Red \u001b[31mhall\u009b2J\nsecond line';
  expect(textOf([{ name }])).toBe('name\nRed  [31mhall 2J second line');
  expect(textOf({ name })).toBe('name  Red  [31mhall 2J second line');
});

test('a record is a list of fields, with a table for each list in it', () => {
  const account = { kind: 'Brand', id: 1 };
  const changes = { status: { from: 'Pending', to: 'Approved' }, reason: { to: 'Rain' } };
  const record = {
    id: 7,
    left: undefined,
    none: null,
    account,
    open: true,
    tags: ['a', 'b'],
    empty: [],
    events: [{ account, changes }],
  };
  expect(textOf(record)).toBe(`id            7
none          none
account.kind  Brand
account.id    1
open          yes
tags          a, b
empty         none

events
account           changes
kind Brand, id 1  status from Pending to Approved, reason to Rain`);
  expect(textOf([record, { id: 70 }], ['id', 'account.kind'])).toBe('id  account.kind\n 7  Brand\n70');
  expect(textOf([])).toBe('None.');
});

test('names in any script are aligned in columns', () => {
  const names = ['Acme', '東京カフェ', 'مَقْهَى', 'Café', 'Cafe\u0301', '👩‍👩‍👧‍👦 Family', '🇯🇵', 'ﾊﾝｶｸ', 'नमस्ते', '한국'];
  const lines = textOf(names.map((name) => ({ name, id: 7 }))).split('\n');
  // The widths are those of `wcwidth`, except for the joined emoji, whose four parts it adds up while terminals draw one.
  const drawn = [4, 10, 4, 4, 4, 9, 2, 4, 4, 4];
  expect(lines).toEqual([
    'name        id',
    ...names.map((name, index) => `${name}${' '.repeat(10 - (drawn[index] ?? 0))}   7`),
  ]);
});
