import { daysLater } from '../domain/calendar.ts';
import type { Coordinates } from '../domain/description.ts';
import type { NamedAddress } from '../domain/email-address.ts';
import type { PlainDate, Timestamp } from '../domain/ids.ts';

/**
 * Writes iCalendar (RFC 5545), a part at a time. The libraries for it build a whole calendar and write it in one go, which holds the event
 * loop for a tenth of a second with 10,000 events.
 */

export type CalendarEvent = {
  /** Stays the same for as long as the event exists. */
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly start: number;
  readonly end: number;
  /** The date, if the event is that whole day, which programs show above the hours. */
  readonly wholeDay?: PlainDate;
  readonly createdAt: Timestamp;
  /** When anything was changed that the event shows. */
  readonly changedAt: Timestamp;
  readonly isTentative: boolean;
  /** Only in the file of a mail: a feed leaves out what was cancelled. */
  readonly isCancelled?: boolean;
  /** Who sends it. Required in a file that is sent by mail. */
  readonly organizer?: NamedAddress;
  readonly summary: string;
  readonly location?: string;
  readonly coordinates?: Coordinates;
  readonly description?: string;
  readonly url?: string;
};

/** How often calendar programs should ask, for those that follow it. */
const REFRESH = 'PT1H';

const BEGIN = [
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'PRODID:-//Venue Booking Service//Calendar feed//EN',
  'CALSCALE:GREGORIAN',
];

export const calendarBegin = (name: string): string =>
  [
    ...BEGIN,
    // The name and the period once more for programs that do not know RFC 7986.
    textLine('NAME', name),
    textLine('X-WR-CALNAME', name),
    `REFRESH-INTERVAL;VALUE=DURATION:${REFRESH}`,
    `X-PUBLISHED-TTL:${REFRESH}`,
    '',
  ].join('\r\n');

/** A file with some events, for a mail. A program that has an event from a feed finds it by its UID (RFC 5546, 3.2.1). */
export const calendarFile = (events: readonly CalendarEvent[], organizer: NamedAddress): string =>
  [...BEGIN, 'METHOD:PUBLISH', ''].join('\r\n') +
  events.map((event) => eventText({ ...event, organizer })).join('') +
  CALENDAR_END;

export const CALENDAR_END = 'END:VCALENDAR\r\n';

/** An event with its times in UTC, which need no description of a time zone. */
export function eventText(event: CalendarEvent): string {
  const { uid, changedAt, organizer, summary, location, coordinates, description, url } = event;
  const changed = utc(Date.parse(changedAt));
  const lines = [
    'BEGIN:VEVENT',
    textLine('UID', uid),
    // A calendar without a METHOD has the last change here (RFC 5545, 3.8.7.2). So the same content is the same text.
    `DTSTAMP:${changed}`,
    `LAST-MODIFIED:${changed}`,
    ...timeLines(event),
    `STATUS:${statusOf(event)}`,
    `SEQUENCE:${sequenceOf(event)}`,
    ...(organizer === undefined ? [] : [organizerLine(organizer)]),
    textLine('SUMMARY', summary),
    ...(location === undefined ? [] : [textLine('LOCATION', location)]),
    ...(coordinates === undefined
      ? []
      : [`GEO:${coordinates.latitude.toFixed(6)};${coordinates.longitude.toFixed(6)}`]),
    ...(description === undefined ? [] : [textLine('DESCRIPTION', description)]),
    ...(url === undefined ? [] : [folded(`URL:${url}`)]),
    'END:VEVENT',
    '',
  ];
  return lines.join('\r\n');
}

function timeLines({ start, end, wholeDay }: CalendarEvent): readonly string[] {
  if (wholeDay === undefined) return [`DTSTART:${utc(start)}`, `DTEND:${utc(end)}`];
  return [`DTSTART;VALUE=DATE:${basic(wholeDay)}`, `DTEND;VALUE=DATE:${basic(daysLater(wholeDay, 1))}`];
}

/**
 * A higher number replaces an event that a program has (RFC 5545, 3.8.7.4). The seconds from its creation to its last change only grow, and need
 * no counter. That it was cancelled counts, even within its first second.
 */
const sequenceOf = ({ createdAt, changedAt, isCancelled = false }: CalendarEvent): number =>
  Math.max(0, Math.floor((Date.parse(changedAt) - Date.parse(createdAt)) / 1_000)) + (isCancelled ? 1 : 0);

const statusOf = ({ isTentative, isCancelled }: CalendarEvent): string => {
  if (isCancelled) return 'CANCELLED';
  return isTentative ? 'TENTATIVE' : 'CONFIRMED';
};

/** `20260329T010000Z`. */
const utc = (milliseconds: number): string => `${basic(new Date(milliseconds).toISOString().slice(0, 19))}Z`;

/** Without the separators of ISO 8601. */
const basic = (time: string): string => time.replaceAll(/[-:]/g, '');

const textLine = (property: string, text: string): string => folded(`${property}:${escaped(text)}`);

/** A parameter has escapes of its own (RFC 6868, 3). */
const organizerLine = ({ name, address }: NamedAddress): string => {
  const escapedName = name
    .replaceAll('^', '^^')
    .replaceAll('"', "^'")
    .replaceAll(/\p{Cc}/gu, '');
  return folded(`ORGANIZER${name === '' ? '' : `;CN="${escapedName}"`}:mailto:${address}`);
};

/** Line breaks and separators are escaped; other control characters are not allowed (RFC 5545, 3.3.11). */
const escaped = (text: string): string =>
  text
    .replaceAll(/[\\;,]/g, '\\$&')
    .replaceAll(/\r\n?|[\n\u0085\u2028\u2029]/g, '\\n')
    .replaceAll(/(?!\t)\p{Cc}/gu, '');

/** The longest line in octets, without its break. */
const LINE_OCTETS = 75;

/** Splits a long line between characters. The next line begins with a space (RFC 5545, 3.1). */
function folded(line: string): string {
  if (Buffer.byteLength(line) <= LINE_OCTETS) return line;
  let text = '';
  let octets = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (octets + size > LINE_OCTETS) {
      text += '\r\n ';
      octets = 1;
    }
    text += character;
    octets += size;
  }
  return text;
}
