import { type Html, html, type Interpolated } from '../../html/html.ts';

/** A column of a table of figures. The first one names its rows. */
type FigureColumn<T> = { readonly label: string; cell(row: T): Interpolated };

/** A table of few, short columns, which stays a table on a phone. */
export const figureTable = <T>(
  caption: string,
  rows: readonly T[],
  [name, ...figures]: readonly [FigureColumn<NoInfer<T>>, ...FigureColumn<NoInfer<T>>[]],
): Html => html`<table class="figure-table"><caption class="visually-hidden">${caption}</caption>
<thead><tr><th scope="col">${name.label}</th>${figures.map(
  ({ label }) => html`<th scope="col" class="number">${label}</th>`,
)}</tr></thead>
<tbody>${rows.map(
  (row) =>
    html`<tr><th scope="row">${name.cell(row)}</th>${figures.map(
      ({ cell }) => html`<td class="number">${cell(row)}</td>`,
    )}</tr>`,
)}</tbody></table>`;
