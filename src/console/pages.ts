import { isAtLeast } from '../domain/roles.ts';
import { bookingListPages } from './bookings/booking-list.ts';
import { bookingPages } from './bookings/bookings.ts';
import { chargePages } from './bookings/charges.ts';
import { questionPages } from './bookings/questions.ts';
import { reviewPages } from './bookings/reviews.ts';
import { calendarPages } from './calendar/calendar.ts';
import { closureAddPages } from './calendar/closure-add.ts';
import { closureChangePages } from './calendar/closure-change.ts';
import { closureChoicePages } from './calendar/closure-choices.ts';
import { closureImportPages } from './calendar/closure-import.ts';
import { closurePages } from './calendar/closures.ts';
import { weekPages } from './calendar/week-page.ts';
import { apiKeyPages } from './connections/api-keys.ts';
import { calendarFeedPages } from './connections/calendar-feeds.ts';
import { connectionPages } from './connections/connections.ts';
import { customerPage } from './customers/customer-page.ts';
import { customerPages } from './customers/customers.ts';
import { entryPages } from './customers/entries.ts';
import { comparePages } from './find/compare.ts';
import { findPages } from './find/find.ts';
import { freeMonthPages } from './find/free-month.ts';
import { freeTimePages } from './find/free-times.ts';
import { shortlistPages } from './find/shortlist.ts';
import { requestPages } from './find/space-page.ts';
import { overviewPages } from './overview/overview.ts';
import { missing } from './parts/answer.ts';
import { START_PAGE } from './parts/frame.ts';
import type { ConsoleRoutes, Handler, PageDeps } from './parts/routes.ts';
import { acceptInvitationPages } from './people/accept-invitation.ts';
import { memberPages } from './people/member-page.ts';
import { peoplePages } from './people/people.ts';
import { admissionPages } from './requests/admissions.ts';
import { bulkDecisionPages } from './requests/bulk-decisions.ts';
import { decisionPages } from './requests/decisions.ts';
import { inboxPages } from './requests/inbox.ts';
import { movePages } from './requests/moves.ts';
import { seriesPages } from './requests/series.ts';
import { communityPages } from './spaces/community.ts';
import { houseDescriptionPages } from './spaces/house-description.ts';
import { newBrandsPages } from './spaces/new-brands.ts';
import { photoPages } from './spaces/photos.ts';
import { publicationPages } from './spaces/publication.ts';
import { spaceDescriptionPages } from './spaces/space-description.ts';
import { duplicatePages } from './spaces/space-duplicate.ts';
import { hoursPages } from './spaces/space-hours.ts';
import { spaceOrderPages } from './spaces/space-order.ts';
import { spacePages } from './spaces/spaces.ts';
import { deliveryPages } from './webhooks/delivery-pages.ts';
import { webhookPages } from './webhooks/webhooks.ts';
import { historyPages } from './your-account/history.ts';
import { mailPages } from './your-account/mail.ts';
import { mailSettingsPages } from './your-account/mail-settings.ts';
import { yourAccountPages } from './your-account/your-account.ts';

const PAGES = [
  overviewPages,
  inboxPages,
  bulkDecisionPages,
  calendarPages,
  weekPages,
  closureAddPages,
  closurePages,
  closureChangePages,
  closureImportPages,
  closureChoicePages,
  entryPages,
  freeTimePages,
  customerPages,
  customerPage,
  bookingListPages,
  bookingPages,
  questionPages,
  movePages,
  seriesPages,
  decisionPages,
  admissionPages,
  newBrandsPages,
  findPages,
  freeMonthPages,
  shortlistPages,
  comparePages,
  requestPages,
  spacePages,
  hoursPages,
  spaceDescriptionPages,
  photoPages,
  duplicatePages,
  houseDescriptionPages,
  spaceOrderPages,
  publicationPages,
  communityPages,
  reviewPages,
  chargePages,
  historyPages,
  apiKeyPages,
  calendarFeedPages,
  mailSettingsPages,
  webhookPages,
  deliveryPages,
  connectionPages,
  mailPages,
  peoplePages,
  memberPages,
  acceptInvitationPages,
  yourAccountPages,
];

export function registerPages(routes: ConsoleRoutes, deps: PageDeps): void {
  // A community without spaces starts by adding one.
  const start: Handler = async ({ account, role }) => {
    const mayAdd = account.kind === 'Community' && isAtLeast(role, 'Manager');
    const isNew = mayAdd && (await deps.queries.spaces.list(account)).length === 0;
    return { go: isNew ? '/console/spaces/new' : START_PAGE.href };
  };
  for (const path of ['/console', '/console/']) routes.get(path, 'Viewer', start);
  for (const register of PAGES) register(routes, deps);
  routes.get('/console/*', 'Viewer', async () => missing('page'));
}
