import type { ReadableBooking } from '../../../projections/bookings.ts';
import { accountKey, communityOf } from '../../domain/account.ts';
import { isPlainDate } from '../../domain/calendar.ts';
import type { CommunityId, PlainDate } from '../../domain/ids.ts';
import { counted, hours, shortDate, shortened, zoneName } from '../../html/formats.ts';
import { namedText } from '../../html/html.ts';
import type { NewMail } from '../new-mail.ts';
import { wants } from '../preferences.ts';
import { isTomorrow } from '../reminders.ts';
import { bookingMail } from './booking-mails.ts';
import { foreignAccountName, foreignName, foreignText } from './foreign-name.ts';
import type { Fact } from './layout.ts';
import type { ComposeDeps, Reader, Skipped, Written } from './written.ts';

/** Events that a mail names. The console shows the others. */
const NAMED = 100;

type Houses = ReadonlyMap<CommunityId, string>;
type About = { readonly mail: NewMail; readonly reader: Reader };
type Deps = Pick<ComposeDeps, 'queries' | 'contacts' | 'publicUrl' | 'logId' | 'sender' | 'clock' | 'preferences'>;

/** The approved events of tomorrow of an account, of which the reader wants to hear, in one mail: the plan of the day. */
export async function dayPlan(deps: Deps, { mail, reader }: About): Promise<Written | Skipped> {
  const { queries, publicUrl, clock } = deps;
  const { account } = reader;
  const date = await dateOf(deps, mail, reader);
  if (date === undefined) return { skipped: 'It names no day.' };
  const preferences = await deps.preferences.get(mail.userId, accountKey(account));
  const isWanted = ({ spaceId }: ReadableBooking) =>
    wants(preferences, 'EventTomorrow', reader.role, account.kind === 'Community' ? spaceId : undefined);
  const all = queries.bookings.readableList(account, { startDate: date, endDate: date, status: 'Approved' });
  const events: ReadableBooking[] = [];
  for await (const booking of all) if (isWanted(booking)) events.push(booking);
  const [first] = events;
  // Of several zones one is enough, because it is not tomorrow everywhere at once.
  if (first === undefined || !events.some((booking) => isTomorrow(booking, clock())))
    return { skipped: 'The event is not tomorrow any more, or the user turned this mail off.' };
  if (events.length === 1)
    return bookingMail(deps, { kind: 'EventTomorrow', about: { bookingId: first.bookingId }, reader });

  const isCommunity = account.kind === 'Community';
  const others = events.length - NAMED;
  const shown = events.slice(0, NAMED);
  const houses = isCommunity ? undefined : await housesOf(deps, shown);
  return {
    subject: `Tomorrow: ${counted(events.length, 'event')}, ${shortDate(date)}`,
    intro: [`The plan of ${namedText(reader.accountName)} for tomorrow:`],
    facts: [
      ...shown.map((booking) => planned(booking, houses?.get(booking.communityId), publicUrl)),
      ...(others > 0 ? [['Others', `${counted(others, 'more event')}, in the console`] as const] : []),
    ],
    action: isCommunity
      ? { text: 'See the day', url: `${publicUrl}/console/calendar/${date}` }
      : { text: 'See your bookings', url: `${publicUrl}/console/bookings` },
  };
}

/** The day of the plan. A mail of an earlier release has that of the booking, which may have moved since. */
async function dateOf({ queries }: Deps, { about }: NewMail, { account }: Reader): Promise<PlainDate | undefined> {
  const { date } = about;
  if (typeof date === 'string' && isPlainDate(date)) return date;
  return (await queries.bookings.get(account, Number(about.bookingId)))?.date;
}

/** The names of the communities whose spaces a brand has booked. */
async function housesOf({ queries, clock }: Deps, events: readonly ReadableBooking[]): Promise<Houses> {
  const houses = new Map<CommunityId, string>();
  for (const booking of events)
    if (!houses.has(booking.communityId))
      houses.set(booking.communityId, await foreignAccountName(queries.accounts, communityOf(booking), clock()));
  return houses;
}

/** @param house the community, for a brand */
function planned(booking: ReadableBooking, house: string | undefined, publicUrl: string): Fact {
  const { startHour, freeFrom, timeZone, spaceName, brandName, bookingId } = booking;
  const lines =
    house === undefined
      ? [namedText(shortened(spaceName)), foreignName(brandName)]
      : [foreignText(spaceName), `${house}, ${zoneName(timeZone)}`];
  return [hours(startHour, freeFrom), lines.join('\n'), `${publicUrl}/console/bookings/${bookingId}`];
}
