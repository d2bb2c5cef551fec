import { type Html, html } from '../../html/html.ts';
import { named } from '../../html/names.ts';
import { momentIn, zoneName } from './formats.ts';

/** Whose page it is, and of when: on paper only, where there is neither a menu nor a clock. */
export const printedHead = (accountName: string, now: number, zone: string): Html =>
  html`<p class="printed"><span>${named(accountName)}</span><span>${momentIn(zone, now)} ${zoneName(zone)}</span></p>`;
