import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';

/** Copies the text of the element with this id, if JavaScript runs (`forms.js`). @param what names it where a page has several buttons */
export const copyButton = (id: string, what?: string): Html =>
  html`<div class="row"><button class="button quiet small" type="button" data-copy="${id}" hidden>${icon('copy')} Copy${
    what !== undefined && html`<span class="visually-hidden"> ${what}</span>`
  }</button><span role="status" class="small"></span></div>`;
