import type { PageFile } from './page-files.ts';

/** Of a form with photos, with room for its other fields. A script sends each photo by itself. */
const MAX_PHOTO_FORM_BYTES = 16_100_000;

/** The pages and forms of the console, by the file that has them. A file is loaded when one of them is first asked for. */
export const PAGES: readonly PageFile[] = [
  {
    load: async () => (await import('./start.ts')).startPages,
    pages: ['/console', '/console/', '/console/*'],
  },
  {
    load: async () => (await import('./overview/overview.ts')).overviewPages,
    pages: ['/console/overview', '/console/overview/money.csv', '/console/overview/occupancy.csv'],
  },
  {
    load: async () => (await import('./requests/inbox.ts')).inboxPages,
    pages: ['/console/inbox'],
  },
  {
    load: async () => (await import('./requests/bulk-decisions.ts')).bulkDecisionPages,
    pages: ['/console/inbox/approve', '/console/inbox/decline'],
    forms: ['/console/inbox/approve', '/console/inbox/decline'],
  },
  {
    load: async () => (await import('./calendar/calendar.ts')).calendarPages,
    pages: ['/console/calendar', '/console/calendar/:date'],
  },
  {
    load: async () => (await import('./calendar/week-page.ts')).weekPages,
    pages: ['/console/calendar/week', '/console/calendar/week/:date'],
  },
  {
    load: async () => (await import('./calendar/closure-add.ts')).closureAddPages,
    pages: ['/console/calendar/closures/new'],
    forms: ['/console/calendar/closures/new'],
  },
  {
    load: async () => (await import('./calendar/closures.ts')).closurePages,
    pages: ['/console/calendar/closures', '/console/calendar/closures/:id'],
    forms: [
      '/console/calendar/closures/:id/cancel',
      '/console/calendar/closures/:id/leave-out',
      '/console/calendar/closures/:id/end',
    ],
  },
  {
    load: async () => (await import('./calendar/closure-change.ts')).closureChangePages,
    pages: ['/console/calendar/closures/:id/change'],
    forms: ['/console/calendar/closures/:id/change'],
  },
  {
    load: async () => (await import('./calendar/closure-import.ts')).closureImportPages,
    pages: ['/console/calendar/closures/import'],
    uploads: ['/console/calendar/closures/import'],
  },
  {
    load: async () => (await import('./calendar/closure-choices.ts')).closureChoicePages,
    pages: ['/console/calendar/closures/:id/bookings'],
    forms: ['/console/calendar/closures/:id/bookings'],
  },
  {
    load: async () => (await import('./customers/entries.ts')).entryPages,
    pages: ['/console/bookings/enter'],
    forms: ['/console/bookings/enter'],
  },
  {
    load: async () => (await import('./find/free-times.ts')).freeTimePages,
    pages: ['/console/bookings/free'],
  },
  {
    load: async () => (await import('./customers/customers.ts')).customerPages,
    pages: ['/console/customers', '/console/customers/new'],
    forms: ['/console/customers/new'],
  },
  {
    load: async () => (await import('./customers/customer-page.ts')).customerPage,
    pages: ['/console/customers/:id'],
    forms: ['/console/customers/:id', '/console/customers/:id/terms', '/console/customers/:id/invite'],
  },
  {
    load: async () => (await import('./bookings/booking-list.ts')).bookingListPages,
    pages: ['/console/bookings', '/console/bookings.csv'],
  },
  {
    load: async () => (await import('./bookings/bookings.ts')).bookingPages,
    pages: ['/console/bookings/:id'],
    forms: [
      '/console/bookings/:id/review',
      '/console/bookings/:id/answer',
      '/console/bookings/:id/messages',
      '/console/bookings/:id/notes',
    ],
  },
  {
    load: async () => (await import('./bookings/questions.ts')).questionPages,
    pages: ['/console/questions', '/console/questions/:id'],
    forms: ['/console/questions/:id'],
  },
  {
    load: async () => (await import('./requests/moves.ts')).movePages,
    pages: ['/console/bookings/:id/move', '/console/bookings/:id/move/answer'],
    forms: ['/console/bookings/:id/move', '/console/bookings/:id/move/answer'],
  },
  {
    load: async () => (await import('./requests/series.ts')).seriesPages,
    pages: ['/console/inbox/series/:id', '/console/bookings/:id/withdraw-series'],
    forms: ['/console/bookings/:id/withdraw-series'],
  },
  {
    load: async () => (await import('./requests/decisions.ts')).decisionPages,
    pages: ['/console/bookings/:id/approve', '/console/bookings/:id/decline', '/console/bookings/:id/cancel'],
    forms: ['/console/bookings/:id/approve', '/console/bookings/:id/decline', '/console/bookings/:id/cancel'],
  },
  {
    load: async () => (await import('./requests/admissions.ts')).admissionPages,
    pages: ['/console/brands/:id/let-in', '/console/brands/:id/turn-away'],
    forms: ['/console/brands/:id/let-in', '/console/brands/:id/turn-away'],
  },
  {
    load: async () => (await import('./spaces/new-brands.ts')).newBrandsPages,
    pages: ['/console/spaces/new-brands'],
    forms: ['/console/spaces/new-brands'],
  },
  {
    load: async () => (await import('./find/find.ts')).findPages,
    pages: ['/console/find'],
  },
  {
    load: async () => (await import('./find/free-month.ts')).freeMonthPages,
    pages: ['/console/find/:id/month'],
  },
  {
    load: async () => (await import('./find/shortlist.ts')).shortlistPages,
    pages: ['/console/find/shortlist'],
    forms: ['/console/find/:id/shortlist'],
  },
  {
    load: async () => (await import('./find/compare.ts')).comparePages,
    pages: ['/console/find/compare'],
  },
  {
    load: async () => (await import('./find/space-page.ts')).requestPages,
    pages: ['/console/find/:id'],
    forms: ['/console/find/:id'],
  },
  {
    load: async () => (await import('./spaces/spaces.ts')).spacePages,
    pages: ['/console/spaces', '/console/spaces/new', '/console/spaces/:id'],
    forms: ['/console/spaces/new', '/console/spaces/:id', '/console/spaces/:id/close', '/console/spaces/:id/open'],
  },
  {
    load: async () => (await import('./spaces/space-hours.ts')).hoursPages,
    pages: ['/console/spaces/:id/hours'],
    forms: ['/console/spaces/:id/hours'],
  },
  {
    load: async () => (await import('./spaces/space-description.ts')).spaceDescriptionPages,
    pages: ['/console/spaces/:id/description'],
    forms: ['/console/spaces/:id/description'],
  },
  {
    load: async () => (await import('./spaces/photos.ts')).photoPages,
    pages: ['/console/spaces/:id/photos', '/console/spaces/house/photos'],
    forms: ['/console/spaces/:id/photos/order', '/console/spaces/house/photos/order'],
    uploads: ['/console/spaces/:id/photos', '/console/spaces/house/photos'],
    maxUploadBytes: MAX_PHOTO_FORM_BYTES,
  },
  {
    load: async () => (await import('./spaces/space-duplicate.ts')).duplicatePages,
    pages: ['/console/spaces/:id/duplicate'],
    forms: ['/console/spaces/:id/duplicate'],
  },
  {
    load: async () => (await import('./spaces/house-description.ts')).houseDescriptionPages,
    pages: ['/console/spaces/house'],
    forms: ['/console/spaces/house'],
  },
  {
    load: async () => (await import('./spaces/space-order.ts')).spaceOrderPages,
    pages: ['/console/spaces/order'],
    forms: ['/console/spaces/order'],
  },
  {
    load: async () => (await import('./spaces/publication.ts')).publicationPages,
    pages: ['/console/spaces/public'],
    forms: ['/console/spaces/public'],
  },
  {
    load: async () => (await import('./spaces/community.ts')).communityPages,
    pages: ['/console/spaces/community'],
    forms: ['/console/spaces/community'],
  },
  {
    load: async () => (await import('./bookings/reviews.ts')).reviewPages,
    pages: ['/console/reviews'],
  },
  {
    load: async () => (await import('./bookings/charges.ts')).chargePages,
    pages: ['/console/charges', '/console/charges.csv'],
  },
  {
    load: async () => (await import('./your-account/history.ts')).historyPages,
    pages: ['/console/history'],
  },
  {
    load: async () => (await import('./connections/api-keys.ts')).apiKeyPages,
    pages: ['/console/keys'],
    forms: ['/console/keys', '/console/keys/:id/revoke'],
  },
  {
    load: async () => (await import('./connections/calendar-feeds.ts')).calendarFeedPages,
    pages: ['/console/feeds'],
    forms: ['/console/feeds', '/console/feeds/:id/revoke'],
  },
  {
    load: async () => (await import('./your-account/mail-settings.ts')).mailSettingsPages,
    pages: ['/console/mail/settings', '/console/mail/settings/space', '/console/mail/contact'],
    forms: ['/console/mail/settings', '/console/mail/settings/space', '/console/mail/contact'],
  },
  {
    load: async () => (await import('./webhooks/webhooks.ts')).webhookPages,
    pages: ['/console/webhooks', '/console/webhooks/:id'],
    forms: [
      '/console/webhooks',
      '/console/webhooks/:id/rotate',
      '/console/webhooks/:id/disable',
      '/console/webhooks/:id/enable',
      '/console/webhooks/:id/remove',
      '/console/webhooks/:id/test',
      '/console/webhooks/:id/recover',
    ],
  },
  {
    load: async () => (await import('./webhooks/delivery-pages.ts')).deliveryPages,
    pages: ['/console/webhooks/deliveries', '/console/webhooks/:id/deliveries/:delivery'],
    forms: ['/console/webhooks/:id/deliveries/:delivery/resend'],
  },
  {
    load: async () => (await import('./connections/connections.ts')).connectionPages,
    pages: ['/console/apps', '/console/clients'],
    forms: ['/console/apps/:id/disconnect', '/console/clients', '/console/clients/:id/remove'],
  },
  {
    load: async () => (await import('./your-account/mail.ts')).mailPages,
    pages: ['/console/mail'],
    forms: ['/console/mail/:id/resend'],
  },
  {
    load: async () => (await import('./people/people.ts')).peoplePages,
    pages: ['/console/people'],
    forms: ['/console/people/invitations', '/console/people/invitations/:id/withdraw'],
  },
  {
    load: async () => (await import('./people/member-page.ts')).memberPages,
    pages: ['/console/people/:id'],
    forms: ['/console/people/:id/role', '/console/people/:id/remove'],
  },
  {
    load: async () => (await import('./people/accept-invitation.ts')).acceptInvitationPages,
    pages: ['/console/invitation/accept', '/console/invitation/accepted'],
    forms: ['/console/invitation/accept', '/console/invitation/accept/confirm'],
  },
  {
    load: async () => (await import('./your-account/your-account.ts')).yourAccountPages,
    pages: ['/console/account'],
    forms: [
      '/console/account/password',
      '/console/account/address',
      '/console/account/address/confirm',
      '/console/account/sessions/:id/end',
      '/console/account/sessions/end',
    ],
  },
];
