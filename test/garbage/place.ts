/** A value of a field. In forms and addresses, lists are the same name again and again, and all else is text. */
export type Value = unknown;
export type Values = readonly (readonly [name: string, value: Value])[];

export type Sent = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
};

/** Something that takes input from outside, as its own description names it. */
export type Place = {
  /** Such as `POST /bookings`. */
  readonly name: string;
  /** Who may send to it: the name of a sender. */
  readonly sender: string;
  /** What is usually sent. */
  readonly usual: Values;
  request(values: Values): Sent;
};

export const JSON_TYPE = { 'content-type': 'application/json' } as const;
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' } as const;

const textOf = (value: Value): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

/** Nothing to encode, which is faster to see than to do for the hundred thousand fields of a form. */
const PLAIN = /^[\w.-]*$/;

/** Half of a surrogate pair cannot be encoded; the bytes that some clients send for it are. */
export function encoded(value: Value): string {
  const text = textOf(value);
  if (PLAIN.test(text)) return text;
  if (text.isWellFormed()) return encodeURIComponent(text);
  return Array.from(text, (char) => (char.isWellFormed() ? encodeURIComponent(char) : '%ED%A0%80')).join('');
}

/** `a=1&a=2&b=`, for a form or a query. */
export const pairsOf = (values: Values): string => values.flatMap(pairs).join('&');

function pairs([name, value]: Values[number]): string | readonly string[] {
  const before = `${encoded(name)}=`;
  return Array.isArray(value) ? value.map((one) => before + encoded(one)) : before + encoded(value);
}

export const form = (path: string, values: Values): Sent => ({
  method: 'POST',
  path,
  headers: FORM_TYPE,
  body: pairsOf(values),
});

const BOUNDARY = 'garbage';

/** A form with files: what is text is sent as a file, if its name is one of them. */
export function multipart(path: string, values: Values, files: ReadonlySet<string>): Sent {
  const parts = values.map(([name, value]) => {
    const file = files.has(name) ? '; filename="a.csv"\r\nContent-Type: text/csv' : '';
    return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${encoded(name)}"${file}\r\n\r\n${textOf(value)}\r\n`;
  });
  return {
    method: 'POST',
    path,
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    body: `${parts.join('')}--${BOUNDARY}--\r\n`,
  };
}

/** An object whose names may come again: the last one counts, as in JSON. */
export const objectOf = (values: Values): object => Object.fromEntries(values);
