import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalForm, leafHash, type PortableEvent, portableEvent } from '../../src/audit/portable-event.ts';
import type { JsonObject } from '../../src/event-store/event-store.ts';

const event = (data: JsonObject): PortableEvent => ({
  id: '0190b3c4-0000-7000-8000-000000000001',
  stream: 'brand-1',
  revision: 0,
  type: 'BrandAdded',
  data,
  metadata: { at: '2026-11-22T05:47:00.000Z', schema: 1 },
});

const around = (data: string): string =>
  `{"data":${data},"id":"0190b3c4-0000-7000-8000-000000000001","metadata":{"at":"2026-11-22T05:47:00.000Z","schema":1},"revision":0,"stream":"brand-1","type":"BrandAdded"}`;

describe('the canonical form of an event', () => {
  test('has no position', () => {
    const stored = { ...event({ brandId: 1 }), position: '0000000000000007' };
    expect(portableEvent(stored)).toStrictEqual(event({ brandId: 1 }));
    expect(canonicalForm(portableEvent(stored))).toBe(around('{"brandId":1}'));
  });

  test('matches the example in RFC 8785, section 3.2.2', () => {
    const numbers = JSON.parse('[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]');
    const data = { numbers, string: '€$\u000f\nA\'B"\\\\"/', literals: [null, true, false] };
    expect(canonicalForm(event(data))).toBe(
      around(
        String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
      ),
    );
  });

  test('orders names by UTF-16 code units, as in RFC 8785, section 3.2.3', () => {
    const data = { '€': 1, '\r': 2, '\ufb33': 3, '1': 4, '😀': 5, '\u0080': 6, ö: 7 };
    expect(canonicalForm(event(data))).toBe(around(`{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}`));
  });

  test.each([
    // RFC 8785, appendix B.
    ['-0', '0'],
    ['5e-324', '5e-324'],
    ['1.7976931348623157e+308', '1.7976931348623157e+308'],
    ['9007199254740992', '9007199254740992'],
    ['295147905179352830000', '295147905179352830000'],
    ['9.999999999999997e22', '9.999999999999997e+22'],
    ['1e23', '1e+23'],
    ['999999999999999700000', '999999999999999700000'],
    ['1e21', '1e+21'],
    ['9.999999999999997e-7', '9.999999999999997e-7'],
    ['0.000001', '0.000001'],
    ['333333333.3333332', '333333333.3333332'],
    ['1424953923781206.2', '1424953923781206.2'],
  ])('writes the number %s as %s', (stored, written) => {
    expect(canonicalForm(event(JSON.parse(`{"n":${stored}}`)))).toBe(around(`{"n":${written}}`));
  });

  test('a member called __proto__ is a member', () => {
    expect(canonicalForm(event(JSON.parse('{"__proto__":{"a":1}}')))).toBe(around('{"__proto__":{"a":1}}'));
  });
});

describe('a value that RFC 8785 refuses', () => {
  test.each([
    ['half of a surrogate pair', String.raw`{"name":"a\uD83D"}`, String.raw`{"name":"a\ud83d"}`],
    ['the other half', String.raw`{"name":"\uDE00b"}`, String.raw`{"name":"\ude00b"}`],
    ['halves in the wrong order', String.raw`{"name":"\uDE00\uD83D"}`, String.raw`{"name":"\ude00\ud83d"}`],
    ['half a pair beside whole text', String.raw`{"name":"é😀\uDFFF\n"}`, String.raw`{"name":"é😀\udfff\n"}`],
    ['in a name', String.raw`{"z":1,"\uD83D":2,"\uFFFF":3}`, `{"z":1,"\\ud83d":2,"\uFFFF":3}`],
    [
      'names in the order of code units',
      String.raw`{"b":1,"B":2,"ﬃ":3,"😀":4,"\uD83D":5,"10":6,"9":7}`,
      String.raw`{"10":6,"9":7,"B":2,"b":1,"\ud83d":5,"😀":4,"ﬃ":3}`,
    ],
    ['a number larger than any double', '{"n":1e400}', '{"n":1e999}'],
    ['a number smaller than any double', '{"n":[-1e400,0]}', '{"n":[-1e999,0]}'],
  ])('has a form: %s', (_, stored, form) => {
    expect(() => canonicalize(JSON.parse(stored))).toThrow();
    const written = canonicalForm(event(JSON.parse(stored)));
    expect(written).toBe(around(form));
    expect(JSON.parse(written)).toStrictEqual(event(JSON.parse(stored)));
  });

  test('is not mistaken for text that spells the escape', () => {
    const half = canonicalForm(event(JSON.parse(String.raw`{"name":"\uD83D"}`)));
    const spelt = canonicalForm(event({ name: String.raw`\ud83d` }));
    expect(half).not.toBe(spelt);
  });

  test('is hashed however deep it is', () => {
    const deep = `${'[{"a":'.repeat(50_000)}"\\ud83d"${'}]'.repeat(50_000)}`;
    expect(canonicalForm(event(JSON.parse(`{"deep":${deep}}`)))).toBe(around(`{"deep":${deep}}`));
  });

  test('is hashed however long its lists are', () => {
    const long = `[${Array(300_000).fill('1e999').join(',')}]`;
    expect(canonicalForm(event(JSON.parse(`{"long":${long}}`)))).toBe(around(`{"long":${long}}`));
  });

  /** Text of every kind, halves of pairs included. */
  const text = fc
    .array(fc.oneof(fc.string({ unit: 'binary' }), fc.integer({ min: 0xd7f0, max: 0xe010 }).map(String.fromCharCode)))
    .map((parts) => parts.join(''));
  const data = fc.letrec<{ value: unknown; object: object }>((tie) => ({
    object: fc.dictionary(text, tie('value'), { maxKeys: 5 }),
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      text,
      fc.double({ noNaN: true }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      tie('object'),
    ),
  })).object;
  const asStored = (value: object): JsonObject =>
    // As JSON can hold it: without -0.
    JSON.parse(canonicalForm(event(value as JsonObject))).data;

  test('differs exactly where the events do, and reads as the event', () => {
    fc.assert(
      fc.property(data, data, (one, other) => {
        const [a, b] = [asStored(one), asStored(other)];
        expect(JSON.parse(canonicalForm(event(a)))).toStrictEqual(event(a));
        const same = canonicalForm(event(a)) === canonicalForm(event(b));
        expect(same).toBe(JSON.stringify(sorted(a)) === JSON.stringify(sorted(b)));
        expect(canonicalForm(event(a)).isWellFormed()).toBe(true);
        // An independent implementation of the RFC agrees, unless the RFC refuses the event.
        const byRfc = attempt(() => canonicalize(event(a)));
        if (byRfc !== undefined) expect(canonicalForm(event(a))).toBe(byRfc);
        const half = canonicalForm(event({ whole: a, x: '\ud800' }));
        expect(half).toBe(canonicalForm(event({ whole: a, x: 'X' })).replace('"x":"X"', '"x":"\\ud800"'));
      }),
      { numRuns: 300 },
    );
  });

  function attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch {
      return undefined;
    }
  }

  function sorted(value: unknown): unknown {
    if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return { infinite: String(value) };
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(sorted);
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return { members: members.map(([name, inner]) => [name, sorted(inner)]) };
  }
});

test('the leaf hash is SHA-256 of a zero byte and the canonical form in UTF-8', () => {
  const stored = event({ name: 'Müller 東 😀' });
  const expected = createHash('sha256').update('\0').update(canonicalForm(stored)).digest('hex');
  expect(leafHash(stored).toString('hex')).toBe(expected);
});

test('the decision page shows the correct form and hash of an event', () => {
  const page = readFileSync(new URL('../../docs/decisions/seals.md', import.meta.url), 'utf8');
  const [, form = '', hash] = /```json\n(.+)\n```.*?`([0-9a-f]{64})`/s.exec(page) ?? [];
  expect(canonicalForm(JSON.parse(form))).toBe(form);
  expect(leafHash(JSON.parse(form)).toString('hex')).toBe(hash);
});
