import type { Account } from '../../domain/account.ts';
import { daysLater, localDate } from '../../domain/calendar.ts';
import { allows, type PermissionName } from '../../domain/permissions.ts';
import { type Html, html } from '../../html/html.ts';
import type { Queries } from '../../queries/queries.ts';

type Call = { readonly path: string; readonly body?: object };
type Asked = {
  readonly queries: Pick<Queries, 'bookings' | 'spaces'>;
  readonly account: Account;
  readonly now: number;
};

/** A month ahead, so that a start time is likely to be free. */
const DAYS_AHEAD = 30;

/** An example call per permission, read-only ones first. Undefined if there is no suitable data yet. */
const CALLS: readonly (readonly [PermissionName, (asked: Asked) => Promise<Call | undefined>])[] = [
  ['ReadBookings', async () => ({ path: '/bookings' })],
  ['ReadAvailability', async () => ({ path: '/spaces' })],
  ['Webhooks', async () => ({ path: '/webhooks' })],
  ['ReadReviews', readReviews],
  ['WriteBookings', requestBooking],
];

async function readReviews({ queries, account }: Asked): Promise<Call | undefined> {
  if (account.kind === 'Community') return { path: `/communities/${account.id}/reviews` };
  const completed = { status: 'Completed', direction: 'descending', limit: 1 } as const;
  const [booking] = (await queries.bookings.page(account, completed)).bookings;
  return booking && { path: `/communities/${booking.communityId}/reviews` };
}

async function requestBooking({ queries, account, now }: Asked): Promise<Call | undefined> {
  const space = (await queries.spaces.list(account)).find(({ active }) => active);
  if (space === undefined) return undefined;
  const startTime = daysLater(localDate(now, space.timeZone), DAYS_AHEAD);
  return { path: '/bookings', body: { spaceId: space.spaceId, startTime, startHour: space.windowStart } };
}

/** A call that a new key may make, as a command for a terminal. */
export async function tryKey(
  asked: Asked,
  { key, permissions, publicUrl }: { readonly key: string; readonly permissions: number; readonly publicUrl: string },
): Promise<Html | undefined> {
  for (const [permission, callOf] of CALLS) {
    const call = allows(permissions, permission) ? await callOf(asked) : undefined;
    if (call !== undefined) return callView(call, key, publicUrl);
  }
  return undefined;
}

function callView({ path, body }: Call, key: string, publicUrl: string): Html {
  const json = body && `  -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' \\\n`;
  return html`<div class="card"><h2>Try it</h2>${body && html`<p>This key only requests bookings, so this call sends a request to a community.</p>`}<pre>curl -H 'Authorization: Bearer ${key}' \\
${json}  '${publicUrl}/api/v1${path}'</pre></div>`;
}
