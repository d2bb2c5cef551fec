import type { ApiKeyUsage } from '../auth/api-key-usage.ts';
import type { Users } from '../auth/users.ts';
import type { Clients } from '../authorization-server/clients.ts';
import type { ConnectedApps } from '../authorization-server/connected-apps.ts';
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
export type PageDeps = {
  readonly commands: Commands;
  readonly queries: Queries;
  readonly users: Pick<Users, 'get'>;
  readonly webhooks: Omit<Webhooks, 'start' | 'stop'>;
  readonly apiKeyUsage: Pick<ApiKeyUsage, 'lastUsed'>;
  readonly connectedApps: ConnectedApps;
  readonly clients: Pick<Clients, 'addClient' | 'listClients' | 'removeClient'>;
  readonly settings: {
    readonly publicUrl: string;
    /** ISO 4217. */
    readonly currency: string;
    readonly serviceFeePercent: number;
  };
};

export function registerPages(routes: Routes, deps: PageDeps): void {
  inboxPages(routes, deps);
  calendarPages(routes, deps);
  bookingPages(routes, deps);
  findPages(routes, deps);
  spacePages(routes, deps);
  reviewPages(routes, deps);
  chargePages(routes, deps);
  apiKeyPages(routes, deps);
  webhookPages(routes, deps);
  connectionPages(routes, deps);
}
