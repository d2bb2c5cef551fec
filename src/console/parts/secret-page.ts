import { type Html, html, type Interpolated } from '../../html/html.ts';
import type { Link, PageContent } from './answer.ts';
import { copyButton } from './copy-button.ts';
import { buttonLink } from './frame.ts';

type Secret = {
  readonly title: string;
  readonly heading?: Interpolated;
  readonly back: Link;
  readonly secret: string;
  /** What to do with it. */
  readonly advice: string;
  readonly more?: Html;
};

/** Shows a secret once: easy to select, with a copy button if JavaScript runs. */
export const secretPage = ({ title, heading = title, back, secret, advice, more }: Secret): PageContent => ({
  title,
  heading,
  back,
  main: html`<div class="secret"><p>${advice}</p>
<code id="secret">${secret}</code>
${copyButton('secret')}</div>${more}<p>${buttonLink(back.href, 'I have copied it')}</p>`,
});
