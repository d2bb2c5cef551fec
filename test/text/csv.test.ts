import { expect, test } from 'vitest';
import { csvHeader, csvLine } from '../../src/text/csv.ts';

test.each([
  ['plain cells, and an absent one', ['Loft', 7, undefined, 'x'], 'Loft,7,,x'],
  ['what would end a cell', ['Loft, upper floor', 'the "Attic"'], '"Loft, upper floor","the ""Attic"""'],
  ['white space that readers would drop', [' Loft'], '" Loft"'],
  ['control characters, which a terminal would execute', ['Lo\u001b[31mft\nx'], 'Lo [31mft x'],
  ['amounts below zero', ['-460.00', -3], '-460.00,-3'],
  ['formulas', ['=1+1', '+1', '-1+1', '@SUM(A1)', '\t=1', '=A1,"x"'], `'=1+1,'+1,'-1+1,'@SUM(A1),' =1,"'=A1,""x"""`],
  ['formulas in full-width signs', ['＝1+1', '＋1', '－1', ' ＠SUM(A1)'], `'＝1+1,'＋1,'－1,' ＠SUM(A1)`],
])('formats a line of CSV with %s', (_what, cells, line) => {
  expect(csvLine(cells)).toBe(`${line}\r\n`);
});

test('begins with a byte order mark, so that spreadsheets read names as UTF-8', () => {
  expect(Buffer.from(csvHeader(['id', 'name']))).toEqual(Buffer.from('\u{feff}id,name\r\n'));
  expect([...Buffer.from(csvHeader(['id'])).subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
});
