import { apiKeyPages } from './account/api-keys.ts';
import { connectionPages } from './account/connections.ts';
import { historyPages } from './account/history.ts';
import { spacePages } from './account/spaces.ts';
import { webhookPages } from './account/webhooks.ts';
import { bookingListPages } from './bookings/booking-list.ts';
import { bookingPages } from './bookings/bookings.ts';
import { chargePages } from './bookings/charges.ts';
import { reviewPages } from './bookings/reviews.ts';
import { calendarPages } from './calendar/calendar.ts';
import { findPages } from './find/find.ts';
import type { PageDeps } from './parts/page-deps.ts';
import type { Routes } from './parts/visit.ts';
import { bulkApprovalPages } from './requests/bulk-approval.ts';
import { decisionPages } from './requests/decisions.ts';
import { inboxPages } from './requests/inbox.ts';

export function registerPages(routes: Routes, deps: PageDeps): void {
  inboxPages(routes, deps);
  bulkApprovalPages(routes, deps);
  calendarPages(routes, deps);
  bookingListPages(routes, deps);
  bookingPages(routes, deps);
  decisionPages(routes, deps);
  findPages(routes, deps);
  spacePages(routes, deps);
  reviewPages(routes, deps);
  chargePages(routes, deps);
  historyPages(routes, deps);
  apiKeyPages(routes, deps);
  webhookPages(routes, deps);
  connectionPages(routes, deps);
}
