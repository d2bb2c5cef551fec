import { type Html, html } from './html.ts';

/**
 * The part of Markdown that descriptions may have: paragraphs, headings, lists of one level, emphasis, and links to the web. All else shows
 * as it was written. Not a library's: with 5,000 characters, marked takes 170 ms (`*a_` repeated) or overflows the stack (`1. ` repeated).
 */
export function markdown(text: string): Html {
  const blocks: Html[] = [];
  let paragraph: string[] = [];
  let items: Html[] = [];
  let isOrdered = false;
  const end = () => {
    if (paragraph.length > 0)
      blocks.push(html`<p>${paragraph.map((line, index) => html`${index > 0 && html`<br>`}${inline(line)}`)}</p>`);
    if (items.length > 0) blocks.push(isOrdered ? html`<ol>${items}</ol>` : html`<ul>${items}</ul>`);
    paragraph = [];
    items = [];
  };
  for (const line of text.split('\n').map((each) => each.trim())) {
    const [, mark = '', rest = ''] = /^(#{1,6}|[-*+]|\d{1,3}[.)])[ \t](.*)$/.exec(line) ?? [];
    if (line === '') end();
    else if (mark.startsWith('#')) {
      end();
      blocks.push(html`<h3>${inline(rest.trim())}</h3>`);
    } else if (mark !== '') {
      const ordered = /^\d/.test(mark);
      if (paragraph.length > 0 || ordered !== isOrdered) end();
      isOrdered = ordered;
      items.push(html`<li>${inline(rest.trim())}</li>`);
    } else {
      if (items.length > 0) end();
      paragraph.push(line);
    }
  }
  end();
  return html`${blocks}`;
}

/** Bold, italic, a link, an address. The lengths are limited so that a search takes no longer than the text is long. */
const MARKED =
  /\*\*([^*\s][^*]{0,300})\*\*|\*([^*\s][^*]{0,300})\*|\[([^[\]]{1,200})\]\((https?:\/\/[^\s()<>]{1,500})\)|https?:\/\/[^\s()<>]{1,500}/gi;

function inline(line: string): Html {
  const parts: (Html | string)[] = [];
  let from = 0;
  for (const found of line.matchAll(MARKED)) {
    const [all, bold, italic, text, url] = found;
    parts.push(line.slice(from, found.index));
    from = found.index + all.length;
    if (bold !== undefined) parts.push(html`<strong>${bold}</strong>`);
    else if (italic !== undefined) parts.push(html`<em>${italic}</em>`);
    else parts.push(writtenLink(url ?? all, text ?? all));
  }
  return html`${parts}${line.slice(from)}`;
}

/** A link that a user has written. Search engines do not count it, and its site does not learn which page it is on. */
export const writtenLink = (url: string, text: string): Html =>
  html`<a href="${url}" rel="nofollow noopener noreferrer ugc" target="_blank">${text}</a>`;
