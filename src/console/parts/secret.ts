import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';

/** A secret shown only once: easy to select, with a copy button if JavaScript runs. */
export const secretBox = (id: string, secret: string, advice: string): Html => html`<div class="secret"><p>${advice}</p>
<code id="${id}">${secret}</code>
<div class="row"><button class="button" type="button" data-copy="${id}" hidden>${icon('copy')} Copy</button><span role="status" class="small"></span></div></div>`;
