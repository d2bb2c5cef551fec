import type { Space } from '../../domain/space.ts';
import { type Html, html } from '../../html/html.ts';

/** How many colours there are (`.tone-0` and so on). */
const TONES = 8;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** What a name begins with, in the colour of its community. A picture: the name stands beside it. */
export function initialOf({ name, communityId }: Pick<Space, 'name' | 'communityId'>): Html {
  const [first] = graphemes.segment(name.trim());
  return html`<span class="initial tone-${communityId % TONES}" aria-hidden="true">${first?.segment.toLocaleUpperCase('en')}</span>`;
}
