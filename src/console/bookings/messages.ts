import type { ReadableBooking } from '../../../projections/bookings.ts';
import type { ReadableMessage } from '../../../projections/messages.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { BookingId } from '../../domain/ids.ts';
import { BOOKING_NOTE, THREAD_MESSAGE } from '../../domain/limits.ts';
import { isUnread, type ReadMessage, type ThreadKey } from '../../domain/thread.ts';
import { counted, momentIn } from '../../html/formats.ts';
import { type Html, html, written } from '../../html/html.ts';
import { type ReadableNote, UNREAD_FOR_MS } from '../../queries/threads.ts';
import { actorText } from '../parts/actor-view.ts';
import { type Answer, done } from '../parts/answer.ts';
import { viaField } from '../parts/back-link.ts';
import { controlsOf, onceField, postForm, problemOf, textArea } from '../parts/forms.ts';
import { addressOf } from '../parts/links.ts';
import { bookingRoutes, type ConsoleRoutes, type PageDeps } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import { may, type Visit } from '../parts/visit.ts';
import { pathOf } from '../requests/decisions.ts';

/** Messages that a page shows at first: the latest ones. */
const SHOWN = 30;

const LABELS = { text: 'Message', note: 'Note' };

type BookingPage = (visit: Visit, booking: ReadableBooking, problems: Problems) => Promise<Answer>;

/** The forms in which the parties of a booking write to each other, and a community for itself. */
export function messageForms(routes: ConsoleRoutes, { commands, queries }: PageDeps, bookingPage: BookingPage): void {
  bookingRoutes(routes, queries).post('/console/bookings/:id/messages', 'Coordinator', async (visit, booking) => {
    const { account, form, context } = visit;
    const { bookingId } = booking;
    const outcome = await commands.threads.send({ account, bookingId, text: form.lines('text') }, context);
    return isRefusal(outcome)
      ? bookingPage(visit, booking, problemOf(outcome, LABELS))
      : done(pathOf(visit, booking), 'Your message was sent.');
  });

  bookingRoutes(routes.community, queries).post(
    '/console/bookings/:id/notes',
    'Coordinator',
    async (visit, booking) => {
      const { account, form, context } = visit;
      const { bookingId } = booking;
      const outcome = await commands.threads.note({ account, bookingId, note: form.lines('note') }, context);
      return isRefusal(outcome)
        ? bookingPage(visit, booking, problemOf(outcome, LABELS))
        : done(pathOf(visit, booking), 'Your note was added.');
    },
  );
}

/** A message about a booking or a space. */
type ShownMessage = Pick<ReadableMessage, 'from' | 'text' | 'at'>;

/** What messages are about, and where they are shown and sent. */
type Conversation = {
  readonly thread: ThreadKey;
  readonly timeZone: string;
  /** The address of its page. */
  readonly page: string;
  /** The address to which its form goes. */
  readonly action: string;
  /** The name of the other party. */
  readonly other: Html;
};

/** The last of these messages, if it is new to the reader. */
export function newlyRead(
  { user, account, now }: Visit,
  thread: ThreadKey,
  messages: readonly ShownMessage[],
): ReadMessage | undefined {
  const last = messages.at(-1);
  if (last === undefined || !isUnread(last, thread, account, user.read ?? {})) return undefined;
  return { thread, at: last.at, since: toTimestamp(now - UNREAD_FOR_MS) };
}

/** What messages of a booking are about. @param other the name of the other party */
export const aboutBooking = ({ bookingId, timeZone }: ReadableBooking, other: Html): Conversation => ({
  thread: bookingId,
  timeZone,
  page: `/console/bookings/${bookingId}`,
  action: `/console/bookings/${bookingId}/messages`,
  other,
});

/** Messages, the newest last, and the form for another one. @param card `instead`: what it has in place of the form */
export function messagesCard(
  visit: Visit,
  about: Conversation,
  messages: readonly ShownMessage[],
  { problems, instead }: { readonly problems: Problems; readonly instead?: Html | undefined },
): Html {
  const isWhole = visit.query.text('messages') === 'all';
  const shown = isWhole ? messages : messages.slice(-SHOWN);
  const whole = addressOf(about.page, { messages: 'all' });
  const isCut = shown.length < messages.length;
  return html`<section class="card" id="messages"><h2>Messages</h2>
<div class="stack" id="message-list" data-live-region>${
    isCut && html`<p><a href="${whole}#messages">Show all ${counted(messages.length, 'message')}</a></p>`
  }${
    messages.length === 0
      ? html`<p class="muted">No messages yet.</p>`
      : html`<ol class="messages" role="list">${shown.map((message) => messageView(visit, message, about))}</ol>`
  }</div>
${instead ?? (may(visit, 'Coordinator') && messageForm(visit, about, problems))}</section>`;
}

function messageView(
  { account, user: { read = {} } }: Visit,
  message: ShownMessage,
  { thread, other, timeZone }: Conversation,
): Html {
  const isNew = isUnread(message, thread, account, read);
  const writer = message.from === account.kind ? 'You' : other;
  return html`<li><p class="muted small"><strong>${writer}</strong>, ${timeOf(timeZone, message.at)}
${isNew && html`<span class="status is-pending">New</span>`}</p>${written(message.text)}</li>`;
}

const messageForm = (visit: Visit, { action }: Conversation, problems: Problems): Html =>
  postForm(visit, action, 'fields')`${viaField(visit)}${onceField()}
${textArea({
  ...controlsOf(visit.form, problems)('text', 'Your message'),
  required: true,
  attributes: { maxlength: THREAD_MESSAGE.max, rows: 3 },
})}
<div><button class="button quiet">Send message</button></div>`;

const timeOf = (zone: string, at: string): Html => html`<time datetime="${at}">${momentIn(zone, at)}</time>`;

/** The notes of a community about a booking, the newest last, and the form for another one. */
export const notesCard = (
  visit: Visit,
  { bookingId, timeZone }: ReadableBooking,
  notes: readonly ReadableNote[],
  problems: Problems,
): Html => html`<section class="card" id="notes"><h2>Notes</h2><p class="muted small">Only your house reads them.</p>
<div id="note-list" data-live-region>${
  notes.length > 0 && html`<ol class="messages" role="list">${notes.map((note) => noteView(note, timeZone))}</ol>`
}</div>
${may(visit, 'Coordinator') && noteForm(visit, bookingId, problems)}</section>`;

const noteView = ({ note, by, at }: ReadableNote, zone: string): Html =>
  html`<li><p class="muted small">${actorText(by)}, ${timeOf(zone, at)}</p>${written(note)}</li>`;

const noteForm = (visit: Visit, bookingId: BookingId, problems: Problems): Html =>
  postForm(visit, `/console/bookings/${bookingId}/notes`, 'fields')`${viaField(visit)}${onceField()}
${textArea({
  ...controlsOf(visit.form, problems)('note', 'New note'),
  required: true,
  attributes: { maxlength: BOOKING_NOTE.max, rows: 2 },
})}
<div><button class="button quiet">Add note</button></div>`;
