import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ABOUT } from '../../src/domain/limits.ts';
import { markdown } from '../../src/html/markdown.ts';

test('paragraphs, headings, lists, emphasis and links', () => {
  const text =
    '# The hall\n\nA **bright** room\nwith *two* doors.\n- Oak floor\n- [Plan](https://example.com/plan)\n1. Ring\n2) Wait';
  expect(String(markdown(text))).toBe(
    '<h3>The hall</h3><p>A <strong>bright</strong> room<br>with <em>two</em> doors.</p><ul><li>Oak floor</li>' +
      '<li><a href="https://example.com/plan" rel="nofollow noopener noreferrer ugc" target="_blank">Plan</a></li></ul>' +
      '<ol><li>Ring</li><li>Wait</li></ol>',
  );
});

test('text of any kind makes no other element, attribute or address', () => {
  const piece = fc.constantFrom(
    '<',
    '>',
    '"',
    "'",
    '&',
    '*',
    '**',
    '[',
    '](',
    ')',
    'https://a',
    'javascript:',
    'a',
    ' ',
    '\n',
    '# ',
    '- ',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const made = String(markdown(pieces.join('')));
      const tags = made.match(/<[^>]*>/g) ?? [];
      const known =
        /^<(?:\/?(?:p|h3|ul|ol|li|strong|em)|br|\/a|a href="https:\/\/[^"<>\s]*" rel="nofollow noopener noreferrer ugc" target="_blank")>$/;
      expect(tags.filter((tag) => !known.test(tag))).toEqual([]);
      expect(made.replaceAll(/<[^>]*>/g, '')).not.toMatch(/[<>]/);
    }),
  );
});

test.each(['*a_', '1. ', '**a ', '[a](', '[a](https://', '- ', '*', 'https://', '['])(
  'the longest text, of %j again and again, ends',
  (part) => {
    const text = part.repeat(Math.ceil(ABOUT.max / part.length)).slice(0, ABOUT.max);
    expect(String(markdown(text)).length).toBeGreaterThan(0);
  },
);
