import type { Account, AccountKind } from './account.ts';
import { type Decision, refuse } from './decision.ts';
import type { BookingNoted, MessageSent, ThreadEvent } from './events.ts';
import type { BookingId, Timestamp } from './ids.ts';
import { BOOKING_NOTE, MAX_MESSAGES, THREAD_MESSAGE, wrongText } from './limits.ts';
import type { QuestionKey } from './question.ts';

/** How much has been written about a booking. */
export type Thread = { readonly messages: number; readonly notes: number };

export const NO_THREAD: Thread = { messages: 0, notes: 0 };

export const evolveThread = (thread: Thread, { type }: ThreadEvent): Thread =>
  type === 'MessageSent' ? { ...thread, messages: thread.messages + 1 } : { ...thread, notes: thread.notes + 1 };

/** The booking that is written about. */
type OfBooking = Omit<BookingNoted['data'], 'note'>;

/** Decides a message of one party of a booking to the other. */
export function sendMessage(
  { messages }: Thread,
  { bookingId, communityId, brandId, spaceId }: OfBooking,
  { from, text }: { readonly from: Account['kind']; readonly text: string },
): Decision<MessageSent> {
  const wrong = wrongText('text', text, THREAD_MESSAGE);
  if (wrong !== undefined) return wrong;
  if (messages >= MAX_MESSAGES) return refuse('BookingNotAllowed', `A booking has at most ${MAX_MESSAGES} messages.`);
  return [{ type: 'MessageSent', data: { bookingId, communityId, brandId, spaceId, from, text } }];
}

/** Decides a note of a community about a booking, for itself. */
export function noteBooking(
  { notes }: Thread,
  { bookingId, communityId, brandId, spaceId }: OfBooking,
  note: string,
): Decision<BookingNoted> {
  const wrong = wrongText('note', note, BOOKING_NOTE);
  if (wrong !== undefined) return wrong;
  if (notes >= MAX_MESSAGES) return refuse('BookingNotAllowed', `A booking has at most ${MAX_MESSAGES} notes.`);
  return [{ type: 'BookingNoted', data: { bookingId, communityId, brandId, spaceId, note } }];
}

/** What messages are about: a booking, by its id, or a space and a brand that asks about it (`questionKey`). */
export type ThreadKey = BookingId | QuestionKey;

/** When the last message was written that a user has read, by what it is about. */
export type ReadMarks = { readonly [thread: string]: Timestamp };

/** The last message about something that a user has read. Marks from before `since` are not needed any more. */
export type ReadMessage = { readonly thread: ThreadKey; readonly at: Timestamp; readonly since: Timestamp };

const MAX_READ_MARKS = 500;

/** Adds a mark, unless a later message was read. Keeps the {@link MAX_READ_MARKS} latest. */
export function withMark(marks: ReadMarks, { thread, at, since }: ReadMessage): ReadMarks {
  if (at <= (marks[thread] ?? '')) return marks;
  const kept = Object.entries<Timestamp>({ ...marks, [thread]: at })
    .filter(([, mark]) => mark > since)
    .sort(([, a], [, b]) => (a < b ? 1 : -1));
  return Object.fromEntries(kept.slice(0, MAX_READ_MARKS));
}

/** Whether a message of the other party is new to a user. */
export const isUnread = (
  { from, at }: { readonly from: AccountKind; readonly at: Timestamp },
  thread: ThreadKey,
  reader: Account,
  marks: ReadMarks,
): boolean => from !== reader.kind && at > (marks[thread] ?? '');
