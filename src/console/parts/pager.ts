import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';

/** The pages beside one page of a list. What is undefined does not exist. */
export type Neighbours = {
  readonly first?: string | undefined;
  readonly previous?: string | undefined;
  readonly next?: string | undefined;
};

/** The links between the pages of a list: back by one, back to the first, and on. Nothing if everything is on one page. */
export function pager({ first, previous, next }: Neighbours): Html | undefined {
  if (previous === undefined && next === undefined) return undefined;
  return html`<nav class="pager" aria-label="Pages">${
    previous === undefined
      ? html`<span></span>`
      : html`<span class="row"><a class="button quiet" rel="prev" href="${previous}">${icon('back')} Previous page</a>${first !== undefined && html`<a href="${first}">First page</a>`}</span>`
  }${next !== undefined && html`<a class="button quiet" rel="next" href="${next}">Next page ${icon('next')}</a>`}</nav>`;
}
