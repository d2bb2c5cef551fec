import { SCOPE_DESCRIPTIONS } from '../../auth/scopes.ts';
import { changesOf } from '../../contract/account-change.ts';
import { PERMISSION_LABELS } from '../../contract/permission-labels.ts';
import type { Account, AccountKind } from '../../domain/account.ts';
import type { NamedChange, Topic } from '../../domain/account-change.ts';
import { ownerOfFeed } from '../../domain/calendar-feed.ts';
import { defined } from '../../domain/defined.ts';
import type { PermissionName } from '../../domain/permissions.ts';
import { isRole, ROLE_NAMES } from '../../domain/roles.ts';
import { withoutAmounts } from '../../domain/shown-amounts.ts';
import { capitalised, clock, counted, duration, momentIn, zoneName } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { actorText } from '../parts/actor-view.ts';
import type { Link } from '../parts/answer.ts';
import { withVia } from '../parts/back-link.ts';
import { emptyState } from '../parts/frame.ts';
import { historyOfAll, PATH } from '../parts/history-links.ts';
import { cursorPager, noticeOf, tabs } from '../parts/links.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import { column, dataTable, labelledColumn } from '../parts/tables.ts';
import type { Form } from '../parts/typed-form.ts';
import { may, type Visit } from '../parts/visit.ts';
import { RULES } from '../spaces/hours-form.ts';
import { LABELS as SPACE_LABELS } from '../spaces/space-list.ts';

const PER_PAGE = 30;
/** Spaces of a change that are named. The others are counted. */
const MOST_NAMED = 6;

type OfferedTopic = { readonly topic: Topic; readonly label: string; readonly only?: AccountKind };

const TOPICS: readonly OfferedTopic[] = [
  { topic: 'spaces', label: 'Spaces and fees', only: 'Community' },
  { topic: 'keys', label: 'API keys' },
  { topic: 'feeds', label: 'Calendar feeds' },
  { topic: 'webhooks', label: 'Webhooks' },
  { topic: 'members', label: 'Members' },
  { topic: 'apps', label: 'Apps and clients' },
];

/** The changes of an account: of its spaces and fees, keys, webhooks, members and apps, with times and actors. */
export function historyPages(routes: Routes, { queries }: PageDeps): void {
  routes.get(PATH, 'Viewer', async (visit) => {
    const { account, accountName, query, accountZone: zone, via } = visit;
    const offered = TOPICS.filter(({ only }) => only === undefined || only === account.kind);
    const of = query.text('of') || undefined;
    const topic = of === undefined ? offered.find((one) => one.topic === query.text('topic'))?.topic : undefined;
    const cursors = await cursorsIn(account, query);
    const filter = defined({ topic, of });
    const { changes: found, ...beside } = await queries.accountHistory.page(account, {
      ...filter,
      ...cursors,
      limit: PER_PAGE,
    });
    const shown = may(visit, 'Manager') ? found : found.map(withoutAddress);
    const changes = visit.amount === undefined ? shown.map(withoutAmounts) : shown;
    const spaces = await spaceNamesIn(account, changes);
    const format = { amount: visit.amount, currency: visit.settings.currency, zone, spaces };
    const single = of === undefined ? undefined : changes[0];
    const only = single && html`Only ${subjectText(single)}. `;
    return {
      title: 'Change history',
      ...defined({ back: single && pageOf(visit, single) }),
      lead: html`${only}What changed for ${named(accountName)}, and who did it. Times are in ${zoneName(zone)}.`,
      flash: noticeOf(query, cursors),
      main: html`${of === undefined ? topicTabs(offered, topic) : html`<p><a href="${PATH}">The whole history</a></p>`}
<div class="stack full" id="history" data-live-region>${
        changes.length === 0
          ? emptyState(
              'list',
              'Nothing here',
            )`${cursors.before === undefined ? 'Nothing of this kind has changed yet.' : 'There is nothing earlier.'}`
          : changeTable(changes, format)
      }${cursorPager(PATH, of === undefined ? filter : { ...filter, via }, beside, 'before')}</div>`,
    };
  });

  /** The names of the spaces that the details of changes name, by id. */
  async function spaceNamesIn(account: Account, changes: readonly NamedChange[]): Promise<SpaceNames> {
    const ids = new Set(changes.flatMap(({ event }) => spacesNamedIn(event)));
    const spaces = await Promise.all(Array.from(ids, (id) => queries.spaces.get(account, id)));
    return new Map(spaces.flatMap((space) => (space === undefined ? [] : [[space.spaceId, space.name]])));
  }

  /** The cursors of the address that are changes of the account. */
  async function cursorsIn(
    account: Account,
    query: Form,
  ): Promise<{ readonly before?: string; readonly after?: string }> {
    const [before, after] = await Promise.all(
      [query.text('before'), query.text('after')].map(async (cursor) =>
        cursor !== '' && (await queries.accountHistory.hasChangeAt(account, cursor)) ? cursor : undefined,
      ),
    );
    return defined({ before, after });
  }
}

const topicTabs = (offered: readonly OfferedTopic[], current: Topic | undefined): Html =>
  tabs('What changed', [
    { label: 'All', href: PATH, current: current === undefined },
    ...offered.map(({ topic, label }) => ({ label, href: historyOfAll(topic), current: topic === current })),
  ]);

/** A change of a webhook with the host in place of the address, which may hold a secret. */
const withoutAddress = (change: NamedChange): NamedChange =>
  change.of.kind === 'webhook' && change.name !== undefined ? { ...change, name: new URL(change.name).origin } : change;

/** The page that the history of one thing was opened from. */
function pageOf(visit: Pick<Visit, 'via'>, { of, name = 'Space' }: NamedChange): Link | undefined {
  if (of.kind === 'space') return { href: withVia(visit, `/console/spaces/${of.id}`), label: namedText(name) };
  return of.kind === 'webhook' && visit.via !== undefined ? { href: visit.via, label: namedText(name) } : undefined;
}

type SpaceNames = ReadonlyMap<number, string>;

/** How the values of changes are written. */
type ValueFormat = Pick<Visit, 'amount'> & {
  readonly currency: string;
  readonly zone: string;
  readonly spaces: SpaceNames;
};

function spacesNamedIn(event: NamedChange['event']): readonly number[] {
  if (event.type === 'ClosureAdded') return event.data.spaceIds.slice(0, MOST_NAMED);
  return event.type === 'CalendarFeedAdded' && event.data.spaceId !== undefined ? [event.data.spaceId] : [];
}

const changeTable = (changes: readonly NamedChange[], format: ValueFormat): Html =>
  dataTable({ caption: 'Changes, newest first', classes: 'lines' }, changes, [
    column(
      'When',
      'nowrap',
      ({ event: { metadata } }) => html`<time datetime="${metadata.at}">${momentIn(format.zone, metadata.at)}</time>`,
    ),
    column('What', 'long line', (change) =>
      withDetails(html`<strong>${subjectText(change, true)} ${verbOf(change.event)}</strong>`, change, format),
    ),
    labelledColumn('By', 'long', ({ by }) => actorText(by)),
  ]);

/** The subject of a change, by name. Names keep their case at the beginning of a sentence. */
function subjectText({ of, name, event, closureKind }: NamedChange, startsSentence = false): Html {
  const word = (text: string) => (startsSentence ? capitalised(text) : text);
  const called = name !== undefined && html` “${named(name)}”`;
  switch (of.kind) {
    case 'space':
      return html`${word('space')}${called || ` ${of.id}`}`;
    case 'apiKey':
      return html`API key${called || ` ${of.id}`}`;
    case 'calendarFeed': {
      const owner = name === undefined ? 'a user who was removed' : named(name);
      return html`${word('calendar feed')} ${ownerOfFeed(of.id).number} of ${owner}`;
    }
    case 'webhook':
      return html`${word('webhook')}${called || ` ${of.id}`}`;
    case 'user':
      return name === undefined ? html`${word('a user who was removed')}` : named(name);
    case 'brand':
      return html`${word('brand')}${called || ` ${of.id}`}`;
    case 'invitation':
      return html`${word('invitation')} ${of.id.slice(0, 8)}…`;
    case 'closure':
      return html`${word(closureKind === 'OwnEvent' ? 'own event' : 'closed time')}`;
    case 'client':
      return html`${word(event.type.startsWith('Client') ? 'service client' : 'app')}${called || ' that was removed'}`;
    default:
      return html`${word('the account')}`;
  }
}

type EventType = NamedChange['event']['type'];
/** The history of an account leaves out bookings, messages, reviews, single closed days and internal events. */
type AccountEvent = Exclude<
  EventType,
  | `Booking${string}`
  | `Time${string}`
  | `Hours${string}`
  | `Review${string}`
  | 'MessageSent'
  | 'QuestionSent'
  | 'IdsReserved'
  | 'LogCreated'
  | 'ProjectionEventSkipped'
>;

/** Exhaustive: a new kind of event does not compile without its line. */
const VERBS: { readonly [T in EventType]?: string } = {
  SpaceAdded: 'was added',
  SpaceChanged: 'was changed',
  SpaceClosed: 'was closed',
  SpaceOpened: 'was reopened',
  SpaceDescribed: 'was described',
  SpacePhotosChanged: 'has other photos',
  ClosureAdded: 'was added',
  ClosureDateLeftOut: 'has one date less',
  ClosureEnded: 'was ended',
  ApiKeyIssued: 'was created',
  ApiKeyRevoked: 'was revoked',
  CalendarFeedAdded: 'was added',
  CalendarFeedEnded: 'was ended',
  WebhookRegistered: 'was added',
  WebhookSecretRotated: 'got a new signing secret',
  WebhookDisabled: 'was disabled',
  WebhookEnabled: 'was enabled',
  WebhookRemoved: 'was removed',
  MemberAdded: 'became a member',
  MemberRoleChanged: 'got another role',
  MemberRemoved: 'is no longer a member',
  PasswordChanged: 'got a new password',
  EmailChanged: 'changed their address',
  AppConnected: 'was connected',
  AppDisconnected: 'was disconnected',
  MemberInvited: 'was sent',
  InvitationWithdrawn: 'was withdrawn',
  ClientAdded: 'was created',
  ClientRemoved: 'was removed',
  CommunityAdded: 'was created',
  CommunityChanged: 'was changed',
  CommunityDescribed: 'was described',
  CommunityPhotosChanged: 'has other photos',
  CommunityNewBrandsChanged: 'was changed',
  BrandAdded: 'was created',
  BrandSuspended: 'was suspended',
  BrandReinstated: 'works again',
  BrandAdmitted: 'was let in',
  BrandTurnedAway: 'was turned away',
  BrandTrusted: 'is trusted',
  CustomerDescribed: 'has other details',
  SubjectForgotten: 'had its personal texts erased',
} satisfies { readonly [T in AccountEvent]: string };

/** A role of a later release has no name here. */
const roleName = (role: string): string => (isRole(role) ? ROLE_NAMES[role] : role);

/** What happened to the subject. For a member, with the role. */
function verbOf(event: NamedChange['event']): string {
  if (event.type === 'MemberAdded') return `became a ${roleName(event.data.role)}`;
  if (event.type === 'MemberRoleChanged') return `is a ${roleName(event.data.role)} now`;
  if (event.type === 'ClosureAdded' && event.data.replaces !== undefined) return 'was changed';
  return VERBS[event.type] ?? 'changed';
}

const LABELS: Readonly<Record<string, string>> = {
  ...SPACE_LABELS,
  permissions: 'Permissions',
  preview: 'Key',
  spaceId: 'Space',
  shows: 'It shows',
  address: 'Secret of its address',
  events: 'Events',
  previousSecretUntil: 'The old secret signs until',
  reason: 'Reason',
  scopes: 'Permissions',
  timeZone: 'Time zone',
  newBrands: 'Requests of new brands',
  week: 'Hours by weekday',
  ...RULES,
  photos: 'Photos',
  discountPercent: 'Discount in percent',
  agreedFees: 'Agreed fees by space',
  contact: 'Contact',
  note: 'Note',
  date: 'Date',
  specialHours: 'Hours',
  spaces: 'Spaces',
  firstDay: 'First day',
  lastDay: 'Last day',
  weekdays: 'Weekdays',
  hours: 'Hours',
  title: 'Title',
};

/** A change in one line. If it changed several fields, they open below, one per line. */
function withDetails(sentence: Html, { event, before, replaced }: NamedChange, format: ValueFormat): Html {
  const lines = Object.entries(changesOf({ event, ...defined({ before, replaced }) })).filter(
    // Without amounts, hours of which only the fee changed are the same.
    ([field, { from, to }]) => field in LABELS && from !== to && (field !== 'name' || before !== undefined),
  );
  const values = ({ from, to }: (typeof lines)[number][1], field: string) =>
    html`${
      from !== undefined && html`<span class="muted">${named(valueText(field, from, format))} → </span>`
    }${named(valueText(field, to, format))}`;
  const [only, ...others] = lines;
  if (only === undefined) return sentence;
  const [field, change] = only;
  if (others.length === 0 && before !== undefined)
    return html`${sentence} <span class="small">${LABELS[field]} ${values(change, field)}</span>`;
  const facts = lines.map(([name, each]) => html`<dt>${LABELS[name]}</dt><dd>${values(each, name)}</dd>`);
  const which = before && lines.map(([name]) => LABELS[name]).join(', ');
  return html`<details class="change"><summary>${sentence}${which && html` <span class="muted small">${which}</span>`}</summary>
<dl class="facts small">${facts}</dl></details>`;
}

function spacesText(ids: readonly number[], names: SpaceNames): string {
  const shown = ids.slice(0, MOST_NAMED).map((id) => names.get(id) ?? `Space ${id}`);
  const others = ids.length - shown.length;
  return `${shown.join(', ')}${others > 0 ? ` and ${counted(others, 'other')}` : ''}`;
}

const isPermission = (name: string): name is PermissionName => Object.hasOwn(PERMISSION_LABELS, name);

function valueText(field: string, value: string | number, { amount, currency, zone, spaces }: ValueFormat): string {
  if (field === 'spaceId' || field === 'spaces') return spacesText(String(value).split(', ').map(Number), spaces);
  if (field === 'scopes')
    return String(value)
      .split(' ')
      .map((scope) => SCOPE_DESCRIPTIONS[scope] ?? scope)
      .join('; ');
  if (field === 'permissions')
    return String(value)
      .split(', ')
      .map((name) => (isPermission(name) ? PERMISSION_LABELS[name].label : name))
      .join(', ');
  if (field === 'previousSecretUntil') return `${momentIn(zone, value)} ${zoneName(zone)}`;
  if (typeof value === 'string') return value;
  if (field === 'eventFee') return amount?.(Math.round(value * 100), currency) ?? '';
  if (field === 'windowStart' || field === 'windowEnd') return clock(value);
  return field.endsWith('Hours') ? duration(value) : String(value);
}
