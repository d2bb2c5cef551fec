import { createRequire } from 'node:module';
import type * as StringWidth from 'string-width';
import { maxOf } from '../domain/extremes.ts';
import { isObject } from '../domain/is-object.ts';

const require = createRequire(import.meta.url);

/** The columns that a text takes. Only other texts than plain ASCII need the package, which takes a tenth of a command's time to load. */
function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  const { default: stringWidth }: typeof StringWidth = require('string-width');
  return stringWidth(text);
}

type Row = ReadonlyMap<string, unknown>;

/**
 * The text of a result, made of what `--json` prints: a table of a list, the fields of a record, each under the name of its JSON field.
 * Lists inside a record become tables of their own.
 * @param columns the fields that a table shows (`account.id` names a nested one). Default all
 */
export function textOf(value: unknown, columns?: readonly string[]): string {
  if (Array.isArray(value)) return table(value.map((each: unknown) => rowOf(each, columns)));
  if (!isObject(value)) return toText(value);
  const isList = ([, field]: [string, unknown]) => Array.isArray(field) && field.some(isObject);
  const entries = Object.entries(value);
  const lists = entries.filter(isList).map(([name, list]) => `${name}\n${textOf(list, columns)}`);
  const facts = flat(Object.fromEntries(entries.filter((entry) => !isList(entry))));
  const width = maxOf(facts.map(([name]) => name.length));
  const lines = facts.map(([name, field]) => `${name.padEnd(width)}  ${toText(field)}`);
  return [lines.join('\n'), ...lists].filter((part) => part !== '').join('\n\n');
}

const rowOf = (value: unknown, columns: readonly string[] | undefined): Row =>
  new Map(
    !isObject(value)
      ? [['', value]]
      : columns === undefined
        ? Object.entries(value)
        : columns.map((path): [string, unknown] => [path, path.split('.').reduce(fieldOf, value)]),
  );

const fieldOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

/** The fields of a record and of the records in it, such as `account.id`. Absent ones are left out. */
const flat = (record: object, path = ''): [string, unknown][] =>
  Object.entries(record).flatMap(([name, field]): [string, unknown][] => {
    if (field === undefined) return [];
    return isObject(field) ? flat(field, `${path}${name}.`) : [[path + name, field]];
  });

/**
 * Rows under the names of their fields, numbers right-aligned; `None.` without rows. Alignment counts terminal columns: 東 takes two, an
 * Arabic vowel sign none, an emoji of seven code points two.
 */
function table(rows: readonly Row[]): string {
  if (rows.length === 0) return 'None.';
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  const columns = names.map((name) => {
    const cells = rows.map((row) => toText(row.get(name)));
    const width = cells.reduce((widest, cell) => Math.max(widest, widthOf(cell)), name.length);
    const toRight = rows.every((row) => ['undefined', 'number'].includes(typeof row.get(name)));
    return [name, ...cells].map((cell) => {
      const space = ' '.repeat(width - widthOf(cell));
      return toRight ? space + cell : cell + space;
    });
  });
  return [-1, ...rows.keys()]
    .map((row) =>
      columns
        .map((cells) => cells[row + 1])
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The text of a field. Stored text may contain control characters, which a terminal must not execute. */
export function toText(value: unknown, separator = ', '): string {
  if (value === undefined) return '';
  if (value === null) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map((each) => toText(each, ' ')).join(', ') || 'none';
  if (isObject(value))
    return Object.entries(value)
      .map(([name, field]) => `${name} ${toText(field, ' ')}`)
      .join(separator);
  return String(value).replace(/\p{Cc}+/gu, ' ');
}
