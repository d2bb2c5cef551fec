import type { Account } from '../../domain/account.ts';
import { daysLater, localDate } from '../../domain/calendar.ts';
import { termsOn } from '../../domain/day-terms.ts';
import { allows, type PermissionName } from '../../domain/permissions.ts';
import { type Html, html } from '../../html/html.ts';
import type { Queries } from '../../queries/queries.ts';

type Call = { readonly path: string; readonly body?: object };
type CallDeps = {
  readonly queries: Pick<Queries, 'bookings' | 'spaces'>;
  readonly account: Account;
  readonly now: number;
};

/** A month ahead, so that a start time is likely to be free. */
const DAYS_AHEAD = 30;

/** An example call that a key may make, preferably one that only reads. Undefined if there is no suitable data yet. */
async function exampleCall(deps: CallDeps, permissions: number): Promise<Call | undefined> {
  const may = (permission: PermissionName) => allows(permissions, permission);
  if (may('ReadBookings')) return { path: '/bookings' };
  if (may('ReadAvailability')) return { path: '/spaces' };
  if (may('Webhooks')) return { path: '/webhooks' };
  return (may('ReadReviews') && (await readReviews(deps))) || (may('WriteBookings') ? requestBooking(deps) : undefined);
}

async function readReviews({ queries, account }: CallDeps): Promise<Call | undefined> {
  if (account.kind === 'Community') return { path: `/communities/${account.id}/reviews` };
  const completed = { list: { status: 'Completed' }, direction: 'descending', limit: 1 } as const;
  const [booking] = (await queries.bookings.page(account, completed)).bookings;
  return booking && { path: `/communities/${booking.communityId}/reviews` };
}

async function requestBooking({ queries, account, now }: CallDeps): Promise<Call | undefined> {
  const space = (await queries.spaces.list(account)).find(({ active }) => active);
  if (space === undefined) return undefined;
  const startTime = daysLater(localDate(now, space.timeZone), DAYS_AHEAD);
  const { windowStart: startHour } = termsOn(space, startTime);
  return { path: '/bookings', body: { spaceId: space.spaceId, startTime, startHour } };
}

/** A call that a new key may make, as a command for a terminal. */
export async function tryKey(
  deps: CallDeps,
  { key, permissions, publicUrl }: { readonly key: string; readonly permissions: number; readonly publicUrl: string },
): Promise<Html | undefined> {
  const call = await exampleCall(deps, permissions);
  if (call === undefined) return undefined;
  const { path, body } = call;
  const json = body && `  -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' \\\n`;
  return html`<div class="card"><h2>Try it</h2>
${body && html`<p>This key only requests bookings, so this call sends a request to a community.</p>`}
<pre>curl -H 'Authorization: Bearer ${key}' \\
${json}  '${publicUrl}/api/v1${path}'</pre></div>`;
}
