import { type Html, html } from './html.ts';

/**
 * A name or a short text that people chose, set apart from what stands beside it: whichever way its script runs, neither turns the
 * other round (Unicode Standard Annex #9). Without a `dir` of its own `<bdi>` takes that of its first letter (HTML Standard, 4.5.24).
 */
export const named = (text: string): Html => html`<bdi>${text}</bdi>`;

/** The isolate that takes its direction from its first letter, and its end. */
const [FIRST_STRONG_ISOLATE, POP_ISOLATE] = ['\u2068', '\u2069'];

/** Characters that begin or end a direction. In a name they could end ours. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * The same for a name inside of a plain text: the title of a page, an option, an attribute, or a message that is shown later.
 * Between tags, `html` makes a `<bdi>` of it.
 */
export const namedText = (text: string): string =>
  `${FIRST_STRONG_ISOLATE}${text.replaceAll(DIRECTIONS, '')}${POP_ISOLATE}`;

/** What somebody wrote: lines that begin at the side where their script begins. */
export const written = (text: string): Html => html`<p class="quote" dir="auto">${text}</p>`;
