import { accountHistory } from './account-history.ts';
import { admissions } from './admissions.ts';
import { apiKeys } from './api-keys.ts';
import { availability } from './availability.ts';
import { bookingNotes } from './booking-notes.ts';
import { bookings } from './bookings.ts';
import { brands } from './brands.ts';
import { calendarFeeds } from './calendar-feeds.ts';
import { closures } from './closures.ts';
import { communities } from './communities.ts';
import { customerRatings } from './customer-ratings.ts';
import { housePhotos } from './house-photos.ts';
import { houseTexts } from './house-texts.ts';
import { messages } from './messages.ts';
import { questionMessages } from './question-messages.ts';
import { questions } from './questions.ts';
import { reviews } from './reviews.ts';
import { spacePhotos } from './space-photos.ts';
import { spaceRatings } from './space-ratings.ts';
import { spaceTexts } from './space-texts.ts';
import { spaces } from './spaces.ts';
import { threads } from './threads.ts';
import { webhooks } from './webhooks.ts';

/** All read models. */
export const projections = [
  communities,
  spaces,
  spaceTexts,
  houseTexts,
  spacePhotos,
  housePhotos,
  brands,
  admissions,
  customerRatings,
  availability,
  closures,
  bookings,
  messages,
  threads,
  questionMessages,
  questions,
  bookingNotes,
  reviews,
  spaceRatings,
  apiKeys,
  calendarFeeds,
  webhooks,
  accountHistory,
] as const;
