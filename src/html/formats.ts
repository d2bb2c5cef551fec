import { cutText } from '../domain/cut-text.ts';
import { defined } from '../domain/defined.ts';
import { type Html, html } from './html.ts';

/** How pages and mails format dates and times. Dates and hours are in the time zone of their space. */

const utc = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options });
const LONG = utc({ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' });
const SHORT = utc({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
const WEEKDAY = utc({ weekday: 'short', day: 'numeric', month: 'short' });
const MONTH = utc({ month: 'long', year: 'numeric' });

const noon = (date: string) => new Date(`${date}T12:00:00Z`);

/** `Friday 20 November 2026` */
export const longDate = (date: string): string => LONG.format(noon(date)).replace(',', '');
/** `Fri 20 Nov 2026` */
export const shortDate = (date: string): string => SHORT.format(noon(date)).replace(',', '');
/** `Fri 20 Nov` */
export const dayAndMonth = (date: string): string => WEEKDAY.format(noon(date)).replace(',', '');
/** `November 2026`, given YYYY-MM */
export const monthName = (month: string): string => MONTH.format(noon(`${month}-15`));
/** `Nov 2026`, given YYYY-MM */
export const shortMonth = (month: string): string => `${monthName(month).slice(0, 3)} ${month.slice(0, 4)}`;

export { clockTime as clock, hoursBetween as hours } from '../domain/hours.ts';

/** `4 hours`, `1.5 hours` */
export const duration = (length: number): string => counted(Number(length.toFixed(2)), 'hour');

const inZone = (timeStyle?: 'short' | 'medium') => {
  const zones = new Map<string, Intl.DateTimeFormat>();
  const format = (timeZone: string) =>
    new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'medium', ...defined({ timeStyle }) });
  return (zone: string) => zones.getOrInsertComputed(zone, format);
};
const [DAY, MINUTE, SECOND] = [inZone(), inZone('short'), inZone('medium')];

/** A moment, in ISO 8601 or milliseconds since the epoch. */
type Moment = string | number;

/** A moment in a time zone: `20 Nov 2026, 09:30` */
export const momentIn = (zone: string, moment: Moment): string => MINUTE(zone).format(new Date(moment));
/** A moment for readers whose time zone is not known: `2026-11-20 09:30 UTC` */
export const momentInUtc = (at: string): string => `${at.slice(0, 16).replace('T', ' ')} UTC`;
/** A moment in a time zone, to the second: `20 Nov 2026, 09:30:05` */
const secondIn = (zone: string, moment: Moment): string => SECOND(zone).format(new Date(moment));
/** The day of a moment in a time zone: `20 Nov 2026` */
export const dayIn = (zone: string, moment: Moment): string => DAY(zone).format(new Date(moment));

/**
 * The time until or since a moment: `in 47 hours`, `3 days ago`. Days and hours are used only from a few on, because rounding would
 * mislead: `in 1 day` could be nearly two.
 */
export function fromNow(moment: Moment, now: number): string {
  const seconds = (new Date(moment).getTime() - now) / 1000;
  for (const { unit, length, from } of UNITS) {
    if (Math.abs(seconds) >= from * length) return RELATIVE.format(Math.round(seconds / length), unit);
  }
  return seconds < 0 ? 'just now' : 'in a moment';
}

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
/** The length of each unit in seconds, and the number from which it is used. */
const UNITS = [
  { unit: 'day', length: 86_400, from: 3 },
  { unit: 'hour', length: 3_600, from: 2 },
  { unit: 'minute', length: 60, from: 1 },
] as const;

/** A time zone in words: `Europe/Berlin` → `Berlin time`, `UTC` */
export const zoneName = (zone: string): string =>
  zone === 'UTC' ? zone : `${zone.split('/').at(-1)?.replaceAll('_', ' ')} time`;

/** `1 request`, `2 requests` */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** `Try again in 3 minutes.` @param waitMs milliseconds */
export const tryAgainIn = (waitMs: number): string => `Try again in ${counted(Math.ceil(waitMs / 60_000), 'minute')}.`;

/** `approved` → `Approved` */
export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const pad = (value: number): string => String(value).padStart(2, '0');

/** A text cut to a number of characters. Messages travel in a cookie, so names in them are cut to 60. */
export const shortened = (text: string, most = 60): string => cutText(text, most);

/** The reader's time zone, for moments that belong to no space: of keys, apps, webhooks (docs/decisions/time.md). */
type Reader = { readonly zone: string };

/** `20 Nov 2026, 09:30 Berlin time` */
export const moment = (reader: Reader, at: string): Html => timeOf(at, momentIn(reader.zone, at), reader);
/** `20 Nov 2026, 09:30:05 Berlin time` */
export const second = (reader: Reader, at: string): Html => timeOf(at, secondIn(reader.zone, at), reader);
/** `20 Nov 2026, 09:30`, where a heading names the time zone */
export const bareMoment = ({ zone }: Reader, at: string): Html => timeOf(at, momentIn(zone, at));
/** `20 Nov 2026, 09:30:05`, where a heading names the time zone */
export const bareSecond = ({ zone }: Reader, at: string): Html => timeOf(at, secondIn(zone, at));

const timeOf = (at: string, text: string, reader?: Reader): Html =>
  html`<time datetime="${at}">${text}${reader && html` <span class="nowrap">${zoneName(reader.zone)}</span>`}</time>`;
