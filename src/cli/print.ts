type Cell = string | number | boolean | undefined;

/** Rows as an aligned table under their field names, numbers to the right; without rows, `None.` */
export function table(rows: readonly Readonly<Record<string, Cell>>[]): string {
  const [first] = rows;
  if (first === undefined) return 'None.';
  const columns = Object.keys(first).map((name) => {
    const cells = rows.map((row) => toText(row[name]));
    const width = cells.reduce((widest, { length }) => Math.max(widest, length), name.length);
    const toRight = rows.every((row) => row[name] === undefined || typeof row[name] === 'number');
    return [name, ...cells].map((cell) => (toRight ? cell.padStart(width) : cell.padEnd(width)));
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

/** One thing, a field a line. Absent fields are left out. */
export function fields(record: Readonly<Record<string, Cell>>): string {
  const present = Object.entries(record).filter(([, value]) => value !== undefined);
  const width = Math.max(...present.map(([name]) => name.length));
  return present.map(([name, value]) => `${name.padEnd(width)}  ${toText(value)}`).join('\n');
}

/** What people wrote may hold control characters; a terminal must not obey them. */
function toText(value: Cell): string {
  if (value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value).replace(/\p{Cc}+/gu, ' ');
}
