import { type Html, html, type Interpolated } from '../../html/html.ts';

/** Tabs between views of one list, with the current one marked. */
export const tabs = (
  list: readonly { readonly label: Interpolated; readonly href: string; readonly current: boolean }[],
): Html =>
  html`<ul class="tabs">${list.map(({ label, href, current }) =>
    current
      ? html`<li><a href="${href}" aria-current="page">${label}</a></li>`
      : html`<li><a href="${href}">${label}</a></li>`,
  )}</ul>`;
