import { type Html, html, type Interpolated } from '../../html/html.ts';

export type Column<T> = {
  readonly label: Interpolated;
  /** Classes of its cells. */
  readonly classes?: string;
  /** Whether the cell names its row. */
  readonly isHeader?: boolean;
  /** Whether the heading is for screen readers only. */
  readonly isHidden?: boolean;
  /** Whether the label precedes the value where the row is a card. Default: in tables without classes, if the label is not hidden. */
  readonly isLabelled?: boolean;
  cell(row: T): Interpolated;
};

/** A column. `classes`: of its cells. */
export const column = <T>(label: Interpolated, classes: string, cell: Column<T>['cell']): Column<T> => ({
  label,
  classes,
  cell,
});

/** The column that names each row. */
export const rowHeading = <T>(label: string, classes: string, cell: Column<T>['cell']): Column<T> => ({
  ...column(label, classes, cell),
  isHeader: true,
});

/** A column whose label precedes the value where the row is a card. */
export const labelledColumn = <T>(label: string, classes: string, cell: Column<T>['cell']): Column<T> => ({
  ...column(label, classes, cell),
  isLabelled: true,
});

/** What can be done with each row. */
export const actionColumn = <T>(label: string, cell: Column<T>['cell']): Column<T> => ({
  ...column(label, 'actions', cell),
  isHidden: true,
});

/** A table, by its caption. Where it is too narrow for its columns, each row is a card (`tables.css`). */
export function dataTable<T>(
  table: string | { readonly caption: string; readonly classes: string },
  rows: readonly T[],
  columns: readonly (Column<NoInfer<T>> | false)[],
): Html {
  const { caption, classes } = typeof table === 'string' ? { caption: table, classes: '' } : table;
  const visible = columns.filter((column) => column !== false);
  const label = ({ label, isHidden }: Column<T>) =>
    isHidden ? html`<span class="visually-hidden">${label}</span>` : label;
  const cell = (column: Column<T>, row: T) => {
    const { isHidden, isLabelled = classes === '' && !isHidden } = column;
    // A label with markup cannot precede a value.
    const label = isLabelled && typeof column.label === 'string' && html` data-label="${column.label}"`;
    const attributes = html`${label}${column.classes && html` class="${column.classes}"`}`;
    const content = classes === '' && !isHidden ? html`<div>${column.cell(row)}</div>` : column.cell(row);
    return column.isHeader
      ? html`<th scope="row"${attributes}>${content}</th>`
      : html`<td${attributes}>${content}</td>`;
  };
  return html`<div class="table-box"><table class="table ${classes}"><caption class="visually-hidden">${caption}</caption>
<thead><tr>${visible.map(
    (column) =>
      html`<th scope="col"${column.classes?.includes('number') && html` class="number"`}>${label(column)}</th>`,
  )}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${visible.map((column) => cell(column, row))}</tr>`)}</tbody></table></div>`;
}
