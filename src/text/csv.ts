export type Cell = string | number | boolean | undefined;

/**
 * A line of CSV (RFC 4180). A text that a spreadsheet would run as a formula gets a leading apostrophe, because names come from other
 * users (https://owasp.org/www-community/attacks/CSV_Injection). East Asian versions of Excel accept full-width signs, too.
 */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(quoted).join(',')}\r\n`;

/** The first line of a file. The byte order mark makes spreadsheets read it as UTF-8; without it, names lose their accents. */
export const csvHeader = (names: readonly string[]): string => `\uFEFF${csvLine(names)}`;

/** A short file in one text, without the line feed of the last line, which is printed after every answer of the command line. */
export const csvText = (names: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [csvHeader(names), ...rows.map(csvLine)].join('').slice(0, -1);

export const FORMULA = /^\s*[=+\-@＝＋－＠]/;
const NUMBER = /^-?\d+(\.\d+)?$/;
const TO_QUOTE = /[",]|^\s|\s$/;

function quoted(cell: Cell): string {
  const text = textOf(cell);
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return TO_QUOTE.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line, also for a terminal, which must not execute control characters. */
const textOf = (cell: Cell = ''): string =>
  typeof cell === 'boolean' ? (cell ? 'yes' : 'no') : String(cell).replace(/\p{Cc}+/gu, ' ');
