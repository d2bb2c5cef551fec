import type { ApiKeyUses } from '../auth/api-key-uses.ts';
import type { Clients } from '../authorization-server/clients.ts';
import type { ConnectedApps } from '../authorization-server/connected-apps.ts';
import type { Users } from '../auth/users.ts';
import type { Commands } from '../commands/commands.ts';
import type { Queries } from '../queries/queries.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import { apiKeyPages } from './api-keys.ts';
import { bookingPages } from './bookings.ts';
import { calendarPages } from './calendar.ts';
import { chargePages } from './charges.ts';
import { connectionPages } from './connections.ts';
import { findPages } from './find.ts';
import { inboxPages } from './inbox.ts';
import { reviewPages } from './reviews.ts';
import { spacePages } from './spaces.ts';
import type { Routes } from './visit.ts';
import { webhookPages } from './webhooks.ts';

/** What pages are made from: everything that can be told to and asked of the service. */
export type PageParts = {
  readonly commands: Commands;
  readonly queries: Queries;
  readonly users: Pick<Users, 'get'>;
  readonly webhooks: Omit<Webhooks, 'start' | 'stop'>;
  readonly apiKeyUses: Pick<ApiKeyUses, 'lastUsed'>;
  readonly connectedApps: ConnectedApps;
  readonly clients: Pick<Clients, 'addClient' | 'listClients' | 'removeClient'>;
  readonly settings: {
    readonly publicUrl: string;
    /** ISO 4217. */
    readonly currency: string;
    readonly serviceFeePercent: number;
  };
};

export function registerPages(routes: Routes, parts: PageParts): void {
  inboxPages(routes, parts);
  calendarPages(routes, parts);
  bookingPages(routes, parts);
  findPages(routes, parts);
  spacePages(routes, parts);
  reviewPages(routes, parts);
  chargePages(routes, parts);
  apiKeyPages(routes, parts);
  webhookPages(routes, parts);
  connectionPages(routes, parts);
}
