/**
 * Pages are tagged templates. Interpolated values are escaped unless they are fragments made here, so HTML in a name, a message or a
 * review is displayed, never executed. A template that interpolates where escaping is not enough (unquoted attributes, event handlers,
 * styles, scripts and comments) throws the first time it is used.
 */

/** A fragment of a page: markup that needs no escaping. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }

  toString(): string {
    return this.markup;
  }
}

/** Values that a template may interpolate. `false`, `null` and `undefined` render nothing; lists are concatenated. */
export type Interpolated = Html | string | number | false | null | undefined | readonly Interpolated[];

export const EMPTY = new Html('');

/** Trusted markup, written by this service. Never pass it unescaped input. */
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
 * Renders a fragment, escaping every value.
 * @example html`<a href="/bookings/${id}">${booking.spaceName}</a>`
 * @throws {Error} if a value is interpolated where escaping cannot make it safe, which is a bug in the template
 */
export function html(strings: TemplateStringsArray, ...values: readonly Interpolated[]): Html {
  const sites = sitesOf(strings);
  let markup = strings[0] ?? '';
  for (let index = 0; index < values.length; index += 1) {
    const site = sites[index];
    const rendered = render(values[index], site === 'text');
    markup += (site === 'url' ? safeUrl(rendered) : rendered) + (strings[index + 1] ?? '');
  }
  return new Html(markup);
}

/** A boolean attribute (`checked`, `disabled`), present or absent. */
export const flag = (
  name: 'checked' | 'disabled' | 'selected' | 'required' | 'hidden' | 'open' | 'autofocus',
  on: boolean,
) => (on ? new Html(` ${name}`) : EMPTY);

function render(value: Interpolated, betweenTags: boolean): string {
  if (value instanceof Html) return value.markup;
  if (typeof value === 'string') {
    const text = escapeText(value);
    return betweenTags ? isolated(text) : text;
  }
  if (typeof value === 'number') return String(value);
  if (value === undefined || value === null || value === false) return '';
  return value.map((one) => render(one, betweenTags)).join('');
}

/** Escaped text between tags. A name inside it (`namedText`) becomes an element. */
function isolated(text: string): string {
  if (!BIDI_CONTROL.test(text)) return text;
  return BIDI_CONTROL.test(text.replaceAll(NAMED, '')) ? `<bdi>${text}</bdi>` : text.replaceAll(NAMED, '<bdi>$1</bdi>');
}

const NAMED = /\u2068([^\u202a-\u202e\u2066-\u2069]*)\u2069/g;

/** Characters that also reorder the text around them (Unicode Standard Annex #9, 2). */
const BIDI_CONTROL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** Keeps safe links: our own paths, fragments, queries and http(s) URLs. Any other becomes `#`. */
const safeUrl = (url: string): string => (/^(?:https?:\/\/|\/(?![/\\])|#|\?|$)/i.test(url) ? url : '#');

/** Where a value is interpolated. `plain`: in an element that can hold no markup, such as `title`. */
type Site = 'text' | 'plain' | 'attribute' | 'url';

const URL_ATTRIBUTES = /^(?:href|src|action|formaction|poster|cite)$/i;
const sitesByTemplate = new WeakMap<TemplateStringsArray, readonly Site[]>();

/** The context of each interpolation in a template, computed once per template. */
function sitesOf(strings: TemplateStringsArray): readonly Site[] {
  const cached = sitesByTemplate.get(strings);
  if (cached !== undefined) return cached;
  const sites: Site[] = [];
  let before = '';
  for (const part of strings.slice(0, -1)) {
    before += part;
    sites.push(siteAfter(before));
    before += '\u0000';
  }
  sitesByTemplate.set(strings, sites);
  return sites;
}

function siteAfter(before: string): Site {
  const refuse = (where: string): never => {
    throw new Error(`A template interpolates ${where}: …${before.slice(-60)}`);
  };
  if (before.lastIndexOf('<!--') > before.lastIndexOf('-->')) refuse('inside a comment');
  if (isInside(before, ['script', 'style'])) refuse('inside a script or a style');
  const tag = before.replace(CLOSED_MARKUP, '');
  if (tag === '') return isInside(before, ['title', 'textarea', 'option']) ? 'plain' : 'text';
  const rest = tag.replaceAll(CLOSED_VALUE, '');
  const quote = rest.search(/=["']/);
  const name =
    quote === -1
      ? ''
      : (rest
          .slice(0, quote)
          .split(/[\s"'<>/=]/)
          .at(-1) ?? '');
  if (name === '') {
    if (tag.trimEnd().endsWith('=')) refuse('an attribute without quotes');
    return 'attribute';
  }
  if (/^on/i.test(name) || /^(?:style|srcdoc|srcset)$/i.test(name)) refuse(`into ${name}`);
  return URL_ATTRIBUTES.test(name) && /=["']$/.test(tag) ? 'url' : 'attribute';
}

/** Whether one of these elements has been opened, and not closed since. */
const isInside = (before: string, names: readonly string[]): boolean =>
  names.some((name) => {
    const [text = ''] = before.toLowerCase().split(`</${name}`).slice(-1);
    const [, ...opened] = text.split(`<${name}`);
    return opened.some((after) => /^[\s>]/.test(after) && after.includes('>'));
  });

/** Texts and complete tags, up to the tag that is left open at the end, if there is one. */
const CLOSED_MARKUP = /^(?:[^<]|<(?![a-z/])|<[a-z/](?:[^"'>]|"[^"]*"|'[^']*')*>)*/i;

/** A complete attribute value. Once these are removed, a remaining quote belongs to the value that is still open. */
const CLOSED_VALUE = /=(?:"[^"]*"|'[^']*')/g;

/**
 * A user-chosen name or short text, isolated from the text around it, so that neither changes the direction of the other (Unicode
 * Standard Annex #9). `<bdi>` takes its direction from its first letter.
 */
export const named = (text: string): Html => html`<bdi>${text}</bdi>`;

/** Characters that begin or end a text direction. In a name they could end our isolate. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * A name isolated inside plain text: a page title, an option, an attribute or a message. Between tags, `html` turns it into a
 * `<bdi>`.
 */
export const namedText = (text: string): string => `\u2068${text.replaceAll(DIRECTIONS, '')}\u2069`;

/** A longer text by a user, in the direction of its first letter. */
export const written = (text: string): Html => html`<p class="quote" dir="auto">${text}</p>`;
