import stringWidth from 'string-width';
import { maxOf } from '../domain/extremes.ts';

export type Cell = string | number | boolean | undefined;

/**
 * Rows as a table under their field names, numbers right-aligned; `None.` without rows. Alignment counts terminal columns: 東
 * takes two, an Arabic vowel sign none, an emoji of seven code points two.
 */
export function table(rows: readonly Readonly<Record<string, Cell>>[]): string {
  const [first] = rows;
  if (first === undefined) return 'None.';
  const columns = Object.keys(first).map((name) => {
    const cells = rows.map((row) => toText(row[name]));
    const width = cells.reduce((widest, cell) => Math.max(widest, stringWidth(cell)), name.length);
    const toRight = rows.every((row) => row[name] === undefined || typeof row[name] === 'number');
    return [name, ...cells].map((cell) => {
      const space = ' '.repeat(width - stringWidth(cell));
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

/** One record, a field per line. Absent fields are left out. */
export function fields(record: Readonly<Record<string, Cell>>): string {
  const present = Object.entries(record).filter(([, value]) => value !== undefined);
  const width = maxOf(present.map(([name]) => name.length));
  return present.map(([name, value]) => `${name.padEnd(width)}  ${toText(value)}`).join('\n');
}

/** Stored text may contain control characters, which a terminal must not execute. */
export function toText(value: Cell): string {
  if (value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value).replace(/\p{Cc}+/gu, ' ');
}
