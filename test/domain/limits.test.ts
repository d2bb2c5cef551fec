import { expect, test } from 'vitest';
import { hasLength, LABEL, MESSAGE, NAME, wrongText } from '../../src/domain/limits.ts';

test.each(['\ud800', 'x\udfff', '\udc00\ud800', 'a \ud83d b'])(
  '%j is no text: it cannot be written in any encoding',
  (text) => {
    for (const limit of [NAME, LABEL, MESSAGE]) {
      expect(wrongText('message', text, limit)).toEqual({
        refused: 'ValidationError',
        details: 'message must be Unicode text: it has half of a surrogate pair.',
      });
      expect(hasLength(text, limit)).toBe(false);
    }
  },
);

test.each(['x', '🎉', '\ud83c\udf89', 'e\u0301', '\u202e'])('%j is', (text) => {
  expect(wrongText('message', text, NAME)).toBeUndefined();
});
