import { type Html, html } from '../../html/html.ts';
import { momentIn, secondIn, zoneName } from './formats.ts';
import type { Visit } from './visit.ts';

/**
 * Moments that no space has a clock for: of keys, apps, webhooks and their deliveries. By the reader's clock, which is named
 * (docs/decisions/time.md).
 */

type Reader = Pick<Visit, 'zone'>;

/** `20 Nov 2026, 09:30 Berlin time` */
export const moment = (reader: Reader, at: string): Html => marked(at, momentIn(reader.zone, at), reader);
/** `20 Nov 2026, 09:30:05 Berlin time` */
export const second = (reader: Reader, at: string): Html => marked(at, secondIn(reader.zone, at), reader);
/** `20 Nov 2026, 09:30`, where a heading names the clock */
export const bareMoment = ({ zone }: Reader, at: string): Html =>
  html`<time datetime="${at}">${momentIn(zone, at)}</time>`;
/** `20 Nov 2026, 09:30:05`, where a heading names the clock */
export const bareSecond = ({ zone }: Reader, at: string): Html =>
  html`<time datetime="${at}">${secondIn(zone, at)}</time>`;

const marked = (at: string, shown: string, { zone }: Reader): Html =>
  html`<time datetime="${at}">${shown} <span class="nowrap">${zoneName(zone)}</span></time>`;
