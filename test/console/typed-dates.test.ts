import { expect, test } from 'vitest';
import { momentInField, readDate, readMoment, readRange, shownInField } from '../../src/console/parts/typed-dates.ts';

test.each([
  '2026-11-20',
  '2026-11-20 ',
  '2026/11/20',
  '20 Nov 2026',
  '20 November 2026',
  '20 NOV 2026',
  'Fri 20 Nov 2026',
  'Friday, 20 November 2026',
  '20. Nov. 2026',
  '20.11.2026',
  '20. 11. 2026',
])('%s is the 20th of November', (typed) => {
  expect(readDate(typed)).toEqual({ date: '2026-11-20' });
  expect(shownInField(typed)).toBe('Fri 20 Nov 2026');
});

test.each([
  ['2026-02-30', 'There is no 30 February 2026.'],
  ['29 Feb 2027', 'There is no 29 February 2027.'],
  ['0 Jan 2027', 'There is no 0 January 2027.'],
  ['2026-13-01', 'There is no 2026-13-01.'],
  ['31/31/2026', 'There is no 31/31/2026.'],
  ['30/02/2027', 'There is no 30 February 2027.'],
  ['02/30/2027', 'There is no 30 February 2027.'],
  ['1/2/27', 'Write a date such as 20 Nov 2026 or 2026-11-20.'],
  ['11/12/2026', '“11/12/2026” can be read in two ways. Write a date such as 20 Nov 2026 or 2026-11-20.'],
  ['tomorrow', 'Write a date such as 20 Nov 2026 or 2026-11-20.'],
  ['20 Nov', 'Write a date such as 20 Nov 2026 or 2026-11-20.'],
  ['20 Novella 2026', 'Write a date such as 20 Nov 2026 or 2026-11-20.'],
  ['', 'Write a date such as 20 Nov 2026 or 2026-11-20.'],
  ['٢٠ نوفمبر', 'Write a date such as 20 Nov 2026 or 2026-11-20.'],
])('%s is not a date', (typed, problem) => {
  expect(readDate(typed)).toEqual({ problem });
  expect(shownInField(typed)).toBe(typed);
});

test.each([
  ['13/02/2027', '2027-02-13'],
  ['02/13/2027', '2027-02-13'],
  ['5/5/2027', '2027-05-05'],
  ['29/2/2028', '2028-02-29'],
])('%s has one reading', (typed, date) => {
  expect(readDate(typed)).toEqual({ date });
});

test.each(['Sept', 'Sep', 'September', 'May', 'June', 'Jun'])('%s is a month', (month) => {
  expect(readDate(`1 ${month} 2026`)).toHaveProperty('date');
});

test.each([
  '2026-11-20T09:30',
  '2026-11-20T09:30:00',
  '20 Nov 2026, 09:30',
  'Fri 20 Nov 2026, 9:30',
  '20.11.2026 09:30',
])('%s is half past nine', (typed) => {
  expect(readMoment(typed)).toEqual({ time: '2026-11-20T09:30:00' });
  expect(momentInField(typed)).toBe('Fri 20 Nov 2026, 09:30');
});

test.each([
  ['2026-02-30T10:00', /^There is no 30 February 2026\.$/],
  ['20 Nov 2026, 24:00', /^There is no 24:00 on the clock/],
  ['2026-11-20T10:60', /^There is no 10:60 on the clock/],
  ['11/12/2026, 10:00', /can be read in two ways/],
  ['20 Nov 2026', /^Write a date and a time such as/],
  ['soon', /^Write a date and a time such as/],
  ['', /^Write a date and a time such as/],
])('%s is not a date and time', (typed, problem) => {
  expect(readMoment(typed)).toEqual({ problem: expect.stringMatching(problem) });
  expect(momentInField(typed)).toBe(typed);
});

test('seconds are kept', () => {
  expect(momentInField('2026-11-20T09:30:15')).toBe('Fri 20 Nov 2026, 09:30:15');
});

test.each([
  ['', '', {}, {}],
  ['20 Nov 2026', '', { startDate: '2026-11-20' }, {}],
  ['', '20.11.2026', { endDate: '2026-11-20' }, {}],
  ['2026-11-20', '2026-11-20', { startDate: '2026-11-20', endDate: '2026-11-20' }, {}],
  ['soon', '2026-11-20', { endDate: '2026-11-20' }, { from: 'Write a date such as 20 Nov 2026 or 2026-11-20.' }],
])('a range from “%s” to “%s”', (from, to, dates, problems) => {
  expect(readRange({ from, to })).toEqual({ dates, problems });
});

test('a range that ends before it starts is reported at its end', () => {
  expect(readRange({ from: '21 Nov 2026', to: '20 Nov 2026' }).problems).toEqual({
    to: 'The last day is before the first.',
  });
});
