import { formatAmount } from '../../domain/pricing.ts';
import { counted } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import { type Cell, csvHeader, csvLine } from '../../text/csv.ts';
import type { Download } from './answer.ts';

/** A column of a file. Amounts are added up, by the column that holds their currency. */
export type CsvColumn<T> = {
  readonly label: string;
  readonly cell: (row: T) => Cell;
  readonly cents?: (row: T) => number;
  readonly isCurrency?: boolean;
};

type CsvList<T> = {
  /** Without its ending. */
  readonly name: string;
  readonly pages: AsyncIterable<readonly T[]>;
  readonly columns: readonly CsvColumn<T>[];
  /** What the rows are called, for their number in the second cell of the totals, unless that holds the currency. */
  readonly rowName: string;
};

/** A list as a file with a line for each row, and the totals at its end, if it has rows: a line for each currency of amounts that are added up. */
export const csvOf = <T>(list: CsvList<T>): Download => ({ download: { name: list.name, text: textOf(list) } });

async function* textOf<T>({ pages, columns, rowName }: CsvList<T>): AsyncGenerator<string> {
  const currencyColumn = columns.find(({ isCurrency }) => isCurrency);
  const totals = new Map<Cell, { rows: number; readonly cents: Map<CsvColumn<T>, number> }>();
  const totalOf = (of: Cell) => totals.getOrInsertComputed(of, () => ({ rows: 0, cents: new Map() }));
  yield csvHeader(columns.map(({ label }) => label));
  for await (const page of pages) {
    for (const row of page) {
      const total = totalOf(currencyColumn?.cell(row));
      total.rows += 1;
      for (const column of columns)
        if (column.cents) total.cents.set(column, (total.cents.get(column) ?? 0) + column.cents(row));
    }
    yield page.map((row) => csvLine(columns.map(({ cell }) => cell(row)))).join('');
  }
  for (const [of, { rows, cents }] of totals) {
    const cellOf = (column: CsvColumn<T>, place: number): Cell => {
      if (place === 0) return 'Total';
      if (column.isCurrency) return of;
      if (place === 1) return counted(rows, rowName);
      return column.cents && formatAmount(cents.get(column) ?? 0);
    };
    yield csvLine(columns.map(cellOf));
  }
}

/** A column of amounts that are added up. */
export const sumColumn = <T>(label: string, cents: (row: T) => number): CsvColumn<T> => ({
  label,
  cents,
  cell: (row) => formatAmount(cents(row)),
});

/** The link to a file, below the list that it holds. */
export const downloadLink = (href: string): Html => html`<p class="on-screen"><a href="${href}">Download CSV</a></p>`;
