import { expect, test } from 'vitest';
import * as limits from '../../src/domain/limits.ts';
import {
  hasLength,
  LABEL,
  MESSAGE,
  NAME,
  type NumberLimit,
  type TextLimit,
  wrongText,
} from '../../src/domain/limits.ts';

test.each(['\ud800', 'x\udfff', '\udc00\ud800', 'a \ud83d b'])(
  '%j is no text: it cannot be written in any encoding',
  (text) => {
    for (const limit of [NAME, LABEL, MESSAGE]) {
      expect(wrongText('message', text, limit)).toMatchObject({
        refused: 'ValidationError',
        field: 'message',
        details: 'message must be Unicode text: it has half of a surrogate pair.',
      });
      expect(hasLength(text, limit)).toBe(false);
    }
  },
);

test('U+0000 is refused in every text, because receivers that store JSON in PostgreSQL refuse it', () => {
  expect(wrongText('message', 'a\u0000b', MESSAGE)?.details).toBe('message must not have the character U+0000.');
  expect(hasLength('a\u0000b', MESSAGE)).toBe(false);
});

test.each(['', ' ', '\u200b', '\u200d\ufe0f', '\u2060 \t', '\u00ad', '\u3164', '\u2800', '\u202e', '\u{e0041}'])(
  '%j cannot be seen, and is no name',
  (text) => {
    expect(wrongText('name', text, NAME)?.details).toBe('name must have 1 to 200 characters.');
    expect(hasLength(text, LABEL)).toBe(false);
    expect(hasLength(text, MESSAGE)).toBe(true);
  },
);

test.each(['x', '🎉', '\ud83c\udf89', 'e\u0301', '\u202ex', '👩\u200d🚀', 'نادي\u200cها'])('%j is', (text) => {
  expect(wrongText('message', text, NAME)).toBeUndefined();
});

/** What people may write, in characters. */
const TEXTS: readonly (readonly [string, TextLimit, number, number])[] = [
  ['NAME', limits.NAME, 1, 200],
  ['SEARCH', limits.SEARCH, 0, 200],
  ['LABEL', limits.LABEL, 1, 100],
  ['MESSAGE', limits.MESSAGE, 0, 500],
  ['REASON', limits.REASON, 0, 500],
  ['CLOSURE_TITLE', limits.CLOSURE_TITLE, 0, 200],
  ['SKIP_REASON', limits.SKIP_REASON, 1, 500],
  ['IDEMPOTENCY_KEY', limits.IDEMPOTENCY_KEY, 1, 255],
  ['REVIEW_TITLE', limits.REVIEW_TITLE, 1, 200],
  ['REVIEW_CONTENT', limits.REVIEW_CONTENT, 1, 5_000],
  ['WEBHOOK_URL', limits.WEBHOOK_URL, 1, 2_048],
  ['EMAIL', limits.EMAIL, 1, 254],
  ['PASSWORD', limits.PASSWORD, 10, 256],
];
test.each(TEXTS)('%s: %o, characters that may be emoji', (_, limit, min, max) => {
  for (const character of ['x', '🎉']) {
    for (const length of [min, min + 1, max - 1, max]) expect(hasLength(character.repeat(length), limit)).toBe(true);
    for (const length of [min - 1, max + 1, 2 * max, 2 * max + 1])
      if (length >= 0) expect(hasLength(character.repeat(length), limit)).toBe(false);
  }
  expect(limits.lengthRule(limit)).toBe(`must have ${min === 0 ? 'at most' : `${min} to`} ${max} characters`);
});

const NUMBERS: readonly (readonly [string, NumberLimit, number, number, number])[] = [
  ['HOUR', limits.HOUR, 0, 23, 1],
  ['DURATION_HOURS', limits.DURATION_HOURS, 0.25, 23, 0.25],
  ['ANSWER_HOURS', limits.ANSWER_HOURS, 1, 2_160, 1],
  ['GAP_HOURS', limits.GAP_HOURS, 0, 4, 0.25],
  ['NOTICE_HOURS', limits.NOTICE_HOURS, 0, 2_160, 1],
  ['HORIZON_DAYS', limits.HORIZON_DAYS, 1, 1_825, 1],
  ['CANCEL_HOURS', limits.CANCEL_HOURS, 0, 2_160, 1],
  ['EVENT_FEE', limits.EVENT_FEE, 0, 10_000_000_000, 1],
  ['RATING', limits.RATING, 1, 5, 1],
];
test.each(NUMBERS)('%s: %o', (_, limit, min, max, step) => {
  for (const value of [min, min + step, max - step, max]) expect(limits.isWithin(value, limit)).toBe(true);
  for (const value of [min - step, max + step, min + step / 2, Number.NaN]) {
    expect(limits.isWithin(value, limit)).toBe(false);
    expect(limits.wrongNumber('field', value, limit)?.details).toMatch(`${min} to ${max}`);
  }
});

test('the numbers of things are those of the guides', () => {
  const { DEFAULT_ANSWER_HOURS, MAX_YEARS_AHEAD, MAX_SPECIAL_DATES, MAX_FEEDS, MAX_CLOSED_TIMES } = limits;
  expect([DEFAULT_ANSWER_HOURS, MAX_YEARS_AHEAD, MAX_SPECIAL_DATES, MAX_FEEDS, MAX_CLOSED_TIMES]).toEqual([
    ...[72, 5, 400, 10, 50],
  ]);
  expect([limits.MAX_INVITATIONS, limits.MAX_SPACE_DAYS, limits.MAX_TYPED_PASSWORD]).toEqual([20, 2_000, 512]);
});

test('a mask is a sum of some of its flags', () => {
  const flags = { One: 1, Two: 2, Four: 4 };
  expect(limits.sumOf(flags)).toBe(7);
  for (let mask = 1; mask <= 7; mask += 1) expect(limits.wrongMask('events', mask, flags)).toBeUndefined();
  for (const mask of [0, -1, 8, 1.5, Number.NaN])
    expect(limits.wrongMask('events', mask, flags)).toMatchObject({
      field: 'events',
      details: 'events must be a sum of these values: 1 One, 2 Two, 4 Four.',
    });
  expect(limits.sumOf({ Two: 2 })).toBe(2);
});
