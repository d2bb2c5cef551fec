import { expect, test } from 'vitest';
import { hasLength, LABEL, MESSAGE, NAME, wrongText } from '../../src/domain/limits.ts';

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
