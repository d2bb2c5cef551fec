import { defined } from '../../domain/defined.ts';
import { counted } from '../../html/formats.ts';
import { type ChosenKind, isChosen } from '../kinds.ts';
import type { NewMail } from '../new-mail.ts';
import type { BookingWritten } from './booking-mails.ts';
import type { Fact } from './layout.ts';
import { isOfQuestion } from './question-mails.ts';
import type { Skipped, Written } from './written.ts';

/** Bookings that a digest names. The page of bookings shows the others. */
const NAMED = 50;

type Write = (mail: NewMail & { readonly kind: ChosenKind }) => Promise<BookingWritten | Skipped>;
type Ended = { readonly digest: Written } | { readonly only: BookingWritten } | Skipped;

/**
 * What happened to bookings within an hour, in one mail to a user: the last news of each booking, latest first. A request that came and
 * ended within the hour is only counted.
 * @param write writes the mail about one of them, as it would go out alone
 */
export async function digestOf(mails: readonly NewMail[], write: Write, publicUrl: string): Promise<Ended> {
  const { bookings, ended } = bookingsIn(mails);
  const written: BookingWritten[] = [];
  let others = 0;
  for (const news of bookings) {
    if (written.length === NAMED) {
      others += 1;
      continue;
    }
    const last = await lastOf(news, write);
    if (last !== undefined) written.push(last);
  }
  const [first] = written;
  if (first === undefined) return { skipped: 'What it was about is no longer news.' };
  if (written.length === 1 && ended === 0) return { only: first };
  const calendar = written.flatMap((one) => one.calendar ?? []);
  if (ended === 0 && areOneSeries(mails)) return { digest: { ...seriesOf(written, first, others), calendar } };
  const count = written.length + others;
  const hasQuestions = mails.some(isOfQuestion);
  return {
    digest: {
      subject: `${hasQuestions ? counted(count, 'booking or question', 'bookings and questions') : counted(count, 'booking')} with news`,
      intro: [
        'There was a lot of news within an hour, so the rest is in this one mail.',
        ...(ended === 0 ? [] : [`${counted(ended, 'request')} came and ended meanwhile.`]),
      ],
      facts: [
        ...written.map(factOf),
        ...(others === 0 ? [] : [['Others', `${counted(others, 'more booking')}, in your list of bookings`] as const]),
      ],
      action: { text: 'See your bookings', url: `${publicUrl}/console/bookings` },
      calendar,
    },
  };
}

function areOneSeries([first, ...others]: readonly NewMail[]): boolean {
  if (first?.about.series === undefined) return false;
  const { kind, account, about } = first;
  return others.every((mail) => mail.kind === kind && mail.account === account && mail.about.series === about.series);
}

/** What happened to the days of a series, in their order. */
const seriesOf = (written: readonly BookingWritten[], first: BookingWritten, others: number): Written => ({
  subject: `${first.title}: ${counted(written.length + others, 'day')} of one event`,
  intro: ['These are several days of one event.'],
  facts: [
    ...written.toReversed().map(factOf),
    ...(others === 0 ? [] : [['Others', `${counted(others, 'more day')}, in your list of bookings`] as const]),
  ],
  ...defined({ action: first.action, replyTo: first.replyTo }),
});

const factOf = ({ title, briefly, action }: BookingWritten): Fact => [title, briefly, action?.url];

/** The last of the news that is still true, and wanted. */
async function lastOf(news: readonly NewMail[], write: Write): Promise<BookingWritten | undefined> {
  for (const mail of news) {
    if (!isChosen(mail.kind)) continue;
    const one = await write({ ...mail, kind: mail.kind });
    if (!('skipped' in one)) return one;
  }
  return undefined;
}

/** The mails about each booking for each account, latest first, without requests that came and ended among them. */
function bookingsIn(mails: readonly NewMail[]) {
  const latestFirst = mails.toSorted((a, b) => (a.at < b.at ? -1 : 1)).toReversed();
  const all = [
    ...Map.groupBy(
      latestFirst,
      ({ account, about }) => `${account}:${about.bookingId ?? `${about.spaceId}-${about.brandId}`}`,
    ).values(),
  ];
  const isOver = ([last, ...before]: readonly NewMail[]) =>
    last !== undefined && ENDS.includes(last.kind) && before.some(({ kind }) => kind === 'BookingRequested');
  const bookings = all.filter((news) => !isOver(news));
  return { bookings, ended: all.length - bookings.length };
}

/** What ends a request or a booking for its community. */
const ENDS: readonly NewMail['kind'][] = ['BookingCancelled', 'BookingExpired'];
