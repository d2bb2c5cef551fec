/**
 * Pages are written as tagged templates. What a page interpolates is text unless it is a fragment made here, so that HTML
 * in a name, a message or a review is shown, never run. Places where escaping would not be enough are refused the first
 * time the template is used: attributes without quotes, event handlers, styles, scripts and comments.
 */

/** A piece of a page: markup that may stand as it is. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }

  toString(): string {
    return this.markup;
  }
}

/** What a template may interpolate. `false`, `null` and `undefined` leave nothing; a list is written one after the other. */
export type Interpolated = Html | string | number | false | null | undefined | readonly Interpolated[];

export const EMPTY = new Html('');

/** Markup that this service wrote itself. Never for anything that came from outside. */
export const raw = (markup: string): Html => new Html(markup);

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text, safe between tags and inside a quoted attribute. */
export const escapeText = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

/**
 * A fragment of a page.
 * @example html`<a href="/bookings/${id}">${booking.spaceName}</a>`
 * @throws {Error} when an interpolation stands where escaping cannot make it safe: a mistake in the template
 */
export function html(strings: TemplateStringsArray, ...values: readonly Interpolated[]): Html {
  const sites = sitesOf(strings);
  let markup = strings[0] ?? '';
  for (let index = 0; index < values.length; index += 1) {
    const written = write(values[index]);
    markup += (sites[index] === 'url' ? safeUrl(written) : written) + (strings[index + 1] ?? '');
  }
  return new Html(markup);
}

/** An attribute without a value (`checked`, `disabled`), there or not. Only for names written in a template. */
export const flag = (
  name: 'checked' | 'disabled' | 'selected' | 'required' | 'hidden' | 'open' | 'autofocus',
  on: boolean,
) => (on ? new Html(` ${name}`) : EMPTY);

function write(value: Interpolated): string {
  if (value instanceof Html) return value.markup;
  if (typeof value === 'string') return escapeText(value);
  if (typeof value === 'number') return String(value);
  if (value === undefined || value === null || value === false) return '';
  return value.map(write).join('');
}

/** Only addresses that a page may lead to: a path of ours, a fragment, a query, or http(s). Others lead nowhere. */
const safeUrl = (url: string): string => (/^(?:https?:\/\/|\/(?![/\\])|#|\?|$)/i.test(url) ? url : '#');

type Site = 'text' | 'attribute' | 'url';

const URL_ATTRIBUTES = /^(?:href|src|action|formaction|poster|cite)$/i;
const checked = new WeakMap<TemplateStringsArray, readonly Site[]>();

/** Where each interpolation of a template stands. Worked out once per template. */
function sitesOf(strings: TemplateStringsArray): readonly Site[] {
  const known = checked.get(strings);
  if (known !== undefined) return known;
  const sites: Site[] = [];
  let before = '';
  for (const part of strings.slice(0, -1)) {
    before += part;
    sites.push(siteAfter(before));
    before += '\u0000';
  }
  checked.set(strings, sites);
  return sites;
}

function siteAfter(before: string): Site {
  const refuse = (where: string): never => {
    throw new Error(`A template interpolates ${where}: …${before.slice(-60)}`);
  };
  if (/<!--(?!.*-->)/s.test(before)) refuse('inside a comment');
  if (/<(script|style)\b[^>]*>(?!.*<\/\1)/is.test(before)) refuse('inside a script or a style');
  const tag = openTag(before);
  if (tag === undefined) return 'text';
  const attribute = /([^\s"'=<>/]+)=(?:"[^"]*|'[^']*)$/.exec(withoutClosedValues(tag));
  if (attribute === null) {
    if (/[=\s]*=\s*$/.test(tag)) refuse('an attribute without quotes');
    return 'attribute';
  }
  const name = attribute[1] ?? '';
  if (/^on/i.test(name) || /^(?:style|srcdoc|srcset)$/i.test(name)) refuse(`into ${name}`);
  return URL_ATTRIBUTES.test(name) && /=["']$/.test(tag) ? 'url' : 'attribute';
}

/** The tag that is still open at the end of `before`, or undefined between tags. */
function openTag(before: string): string | undefined {
  let start: number | undefined;
  let quote: string | undefined;
  for (let index = 0; index < before.length; index += 1) {
    const character = before[index];
    if (start === undefined) {
      if (character === '<' && /[a-z/]/i.test(before[index + 1] ?? '')) start = index;
    } else if (quote !== undefined) {
      if (character === quote) quote = undefined;
    } else if (character === '"' || character === "'") {
      quote = character;
    } else if (character === '>') {
      start = undefined;
    }
  }
  return start === undefined ? undefined : before.slice(start);
}

/** Attribute values that are closed hold no open quote: without them the last one stands alone. */
const withoutClosedValues = (tag: string): string => tag.replace(/=(?:"[^"]*"|'[^']*')/g, '=""').replace(/=""/g, '');
