import { type Cell, toText } from './print.ts';

/**
 * A line of CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe before it: names come from
 * others than the one who opens the file (https://owasp.org/www-community/attacks/CSV_Injection). East Asian versions of Excel take the
 * full-width signs, too.
 */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(quoted).join(',')}\r\n`;

const FORMULA = /^\s*[=+\-@＝＋－＠]/;
const NUMBER = /^-?\d+(\.\d+)?$/;
const TO_QUOTE = /[",]|^\s|\s$/;

function quoted(cell: Cell): string {
  const text = toText(cell);
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return TO_QUOTE.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
