import fc from 'fast-check';
import type { Place, Sent, Value, Values } from './place.ts';

/** What programs, people and attackers send where something else is meant. */
const ODD: readonly Value[] = [
  ...['', ' ', '\t', '\n', '\0', '\u202e', '\ud800', '\ufeff', '👩‍👩‍👧', 'e\u0301'.repeat(20), '\u0000\u0001\u001f'],
  ...[
    'null',
    'undefined',
    'NaN',
    'true',
    '[]',
    '{}',
    '__proto__',
    'constructor',
    'toString',
    '..',
    '../../etc/passwd',
    '%',
    '%00',
    '%zz',
  ],
  ...[
    "' or 1=1 --",
    '<script>alert(1)</script>',
    '#{7*7}',
    '{{7*7}}',
    '\r\nSet-Cookie: a=b',
    'a\r\n\r\nb',
    'javascript:alert(1)',
  ],
  ...[
    '-1',
    '0',
    '-0',
    '1.5',
    '1e3',
    '1e400',
    '0x10',
    '01',
    '+1',
    '1_000',
    '9007199254740993',
    '9'.repeat(40),
    '١٢',
    '1,5',
    '½',
  ],
  ...[
    '2026-02-30',
    '0000-01-01',
    '9999-12-31',
    '+010000-01-01',
    '-000001-01-01',
    '2026-1-1',
    '2027-03-28',
    '2026-12-31T23:59:60Z',
    '25:00',
    '24:00',
    '2:30',
    '9:61',
  ],
  ...[
    'Europe/Nowhere',
    'Etc/GMT+14',
    'UTC+1',
    'europe/berlin',
    'http://[::1]:1/',
    'http://169.254.169.254/',
    'http://a@b@c/',
    'file:///etc/passwd',
    'http://xn--/',
    `http://${'a'.repeat(300)}.example/`,
  ],
  ...[
    'a@b',
    '@',
    'a@b@c',
    `${'a'.repeat(300)}@example.com`,
    '"a b"@example.com',
    'Bearer x',
    'usr_1',
    'W/"x"',
    '*',
    '"',
    'x'.repeat(255),
  ],
  ...[
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e308,
    Number.MAX_SAFE_INTEGER,
    [],
    [[]],
    {},
    { a: 1 },
    [null],
    ['a', 'b'],
    { toString: 1 },
    { length: -1 },
  ],
];

const odd = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...ODD) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

/** Bodies that are no such body. */
const RAW: readonly (string | Buffer)[] = [
  ...[
    '',
    '{',
    '[',
    '"',
    'null',
    '1',
    '{"a":',
    '{"a":1}}',
    '\0',
    '{"__proto__":{"a":1}}',
    '['.repeat(30_000),
    '{"a":'.repeat(10_000),
    '[1e999]',
  ],
  ...[
    '%',
    'a=%',
    'a=%ff',
    '='.repeat(1_000),
    '&'.repeat(30_000),
    'a[]=1&a[b]=2',
    '--garbage\r\n',
    '--garbage\r\nContent-Disposition: form-data; name="a',
  ],
  Buffer.from([0xff, 0xfe, 0x00, 0x80]),
  Buffer.alloc(60_000, 0x80),
];
const TYPES: readonly string[] = [
  'application/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=garbage',
  'text/plain',
  'application/json; charset=utf-16',
  'a',
  '',
];

const change = fc.oneof(
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('value' as const), at: fc.nat(), value: odd }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('missing' as const), at: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('twice' as const), at: fc.nat(), value: odd }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('unknown' as const), value: odd, name: odd }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('raw' as const), at: fc.nat(), type: fc.constantFrom(...TYPES) }),
  },
);

/** One request of garbage: a place, and what is changed in what is usually sent there. */
export const garbage = fc.record({ place: fc.nat(), changes: fc.array(change, { minLength: 1, maxLength: 3 }) });
type Change = typeof change extends fc.Arbitrary<infer C> ? C : never;

const changed = (values: Values, made: Change): Values => {
  const index = 'at' in made ? made.at % Math.max(values.length, 1) : 0;
  switch (made.kind) {
    case 'value':
      return values.map(([name, value], i) => [name, i === index ? made.value : value]);
    case 'missing':
      return values.toSpliced(index, 1);
    case 'twice':
      return values[index] === undefined ? values : [...values, [values[index][0], made.value]];
    case 'unknown':
      return [...values, [String(JSON.stringify(made.name) ?? 'x'), made.value]];
    case 'raw':
      return values;
  }
};

export function requestOf(place: Place, changes: readonly Change[]): Sent {
  const sent = place.request(changes.reduce(changed, place.usual));
  const raw = changes.find((one) => one.kind === 'raw');
  if (raw === undefined || sent.method === 'GET') return sent;
  return { ...sent, headers: { ...sent.headers, 'content-type': raw.type }, body: RAW[raw.at % RAW.length] ?? '' };
}

/** How many times as long, many or deep a field is as usual. */
const TIMES = [10, 1_000, 100_000] as const;

/** A list in a list in a list; not deeper than this process itself can write. */
function nested(usual: Value, times: number): Value {
  let value: Value = usual;
  for (let level = 0; level < Math.min(times, 4_000); level += 1) value = [value];
  return value;
}

/** A text is not made longer, in characters: it would only keep this process busy, as the service takes no body of this size. */
const LONGEST = 1_000_000;

function longer(usual: Value, times: number): Value {
  const text = usual === '' ? 'x' : typeof usual === 'string' ? usual : JSON.stringify(usual);
  return text.repeat(Math.min(times, Math.ceil(LONGEST / text.length)));
}

const SIZED: Readonly<Record<string, (usual: Value, times: number) => Value>> = {
  longer,
  more: (usual, times) => Array.from({ length: times }, () => (Array.isArray(usual) ? usual[0] : usual)),
  deeper: nested,
};

/** Each field of a place, at each size, in each way. */
export function* sizes(place: Place): Generator<{ readonly what: string; readonly sent: Sent }> {
  for (const [index, [name, usual]] of place.usual.entries())
    for (const [how, sized] of Object.entries(SIZED))
      for (const times of TIMES) {
        const values = place.usual.map((one, i) => (i === index ? ([name, sized(usual, times)] as const) : one));
        yield { what: `${name}, ${times} times ${how}`, sent: place.request(values) };
      }
  for (const times of TIMES) {
    const more = Array.from({ length: times }, (_, i) => [`field${i}`, '1'] as const);
    yield { what: `${times} more fields`, sent: place.request([...place.usual, ...more]) };
  }
}
