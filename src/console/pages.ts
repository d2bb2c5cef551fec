import { apiKeyPages } from './api-keys.ts';
import { bookingListPages } from './booking-list.ts';
import { bookingPages } from './bookings.ts';
import { bulkApprovalPages } from './bulk-approval.ts';
import { calendarPages } from './calendar.ts';
import { chargePages } from './charges.ts';
import { connectionPages } from './connections.ts';
import { decisionPages } from './decisions.ts';
import { findPages } from './find.ts';
import { historyPages } from './history.ts';
import { inboxPages } from './inbox.ts';
import type { PageDeps } from './page-deps.ts';
import { reviewPages } from './reviews.ts';
import { spacePages } from './spaces.ts';
import type { Routes } from './visit.ts';
import { webhookPages } from './webhooks.ts';

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
