import { expect, test } from 'vitest';
import { fields, table } from '../../src/cli/print.ts';

test('a list as long as a busy community has it is printed', () => {
  const lines = table(Array.from({ length: 200_000 }, (_, id) => ({ Id: id, Brand: 'Acme' }))).split('\n');
  expect(lines).toHaveLength(200_001);
  expect(lines[0]).toBe('    Id  Brand');
  expect(lines[1]).toBe('     0  Acme');
});

test('what people wrote does not command the terminal', () => {
  const written = 'Red \u001b[31mhall\u009b2J\nsecond line';
  expect(table([{ Name: written }])).toBe('Name\nRed  [31mhall 2J second line');
  expect(fields({ Name: written })).toBe('Name  Red  [31mhall 2J second line');
});
