import { type Admission, evolveAdmission } from '../domain/admission.ts';
import { type ApiKey, evolveApiKey } from '../domain/api-key.ts';
import { type Brand, evolveBrand } from '../domain/brand.ts';
import { type CalendarFeeds, evolveCalendarFeeds, NO_FEEDS } from '../domain/calendar-feed.ts';
import { type Closure, evolveClosure } from '../domain/closure.ts';
import { type Community, evolveCommunity } from '../domain/community.ts';
import { evolveCustomer } from '../domain/customer.ts';
import type { AgreedPrices } from '../domain/customer-details.ts';
import type {
  AdmissionEvent,
  ApiKeyEvent,
  BrandEvent,
  CalendarFeedEvent,
  ClosureEvent,
  CommunityEvent,
  CustomerDescribed,
  MembershipEvent,
  ProjectionEventSkipped,
  QuestionSent,
  ReviewEvent,
  SpaceDayEvent,
  SpaceEvent,
  SubjectForgotten,
  ThreadEvent,
  WebhookEvent,
} from '../domain/events.ts';
import { evolveForgotten, type IsForgotten } from '../domain/forgetting.ts';
import { evolveRecorded, NO_CHANGES, type RecordedChanges } from '../domain/membership.ts';
import { evolveQuestion, NO_QUESTION, type Question } from '../domain/question.ts';
import { evolveReview, type Review } from '../domain/review.ts';
import { evolveSkipped, type SkippedEvents } from '../domain/skipped-events.ts';
import { evolveSpace, type Space } from '../domain/space.ts';
import { EMPTY_SPACE_DAY, evolveSpaceDay, type SpaceDay } from '../domain/space-day.ts';
import { evolveThread, NO_THREAD, type Thread } from '../domain/thread.ts';
import { evolveWebhook, type Webhook } from '../domain/webhook.ts';
import type { Aggregate } from './stream-states.ts';

export const spaceDay: Aggregate<SpaceDay, SpaceDayEvent> = {
  initial: EMPTY_SPACE_DAY,
  evolve: evolveSpaceDay,
  sizeOf: ({ held, cancelled, closed, reopened, arrivals }) =>
    held.size + cancelled.size + closed.size + reopened.size + arrivals.size,
};
export const community: Aggregate<Community | undefined, CommunityEvent> = {
  initial: undefined,
  evolve: evolveCommunity,
};
export const space: Aggregate<Space | undefined, SpaceEvent> = { initial: undefined, evolve: evolveSpace };
export const brand: Aggregate<Brand | undefined, BrandEvent> = { initial: undefined, evolve: evolveBrand };
export const admission: Aggregate<Admission, AdmissionEvent> = { initial: undefined, evolve: evolveAdmission };
export const customer: Aggregate<AgreedPrices, CustomerDescribed> = { initial: {}, evolve: evolveCustomer };
export const closure: Aggregate<Closure | undefined, ClosureEvent> = { initial: undefined, evolve: evolveClosure };
export const review: Aggregate<Review | undefined, ReviewEvent> = { initial: undefined, evolve: evolveReview };
export const apiKey: Aggregate<ApiKey | undefined, ApiKeyEvent> = { initial: undefined, evolve: evolveApiKey };
export const calendarFeeds: Aggregate<CalendarFeeds, CalendarFeedEvent> = {
  initial: NO_FEEDS,
  evolve: evolveCalendarFeeds,
};
export const webhook: Aggregate<Webhook | undefined, WebhookEvent> = { initial: undefined, evolve: evolveWebhook };
export const membership: Aggregate<RecordedChanges, MembershipEvent> = { initial: NO_CHANGES, evolve: evolveRecorded };
export const skippedEvents: Aggregate<SkippedEvents, ProjectionEventSkipped> = { initial: [], evolve: evolveSkipped };
export const forgotten: Aggregate<IsForgotten, SubjectForgotten> = { initial: false, evolve: evolveForgotten };
export const question: Aggregate<Question, QuestionSent> = { initial: NO_QUESTION, evolve: evolveQuestion };
export const thread: Aggregate<Thread, ThreadEvent> = { initial: NO_THREAD, evolve: evolveThread };
