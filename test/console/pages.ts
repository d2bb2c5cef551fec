import type { DemoUser } from '../../src/demo/demo-file.ts';
import type { Account } from '../../src/domain/account.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { defined } from '../../src/domain/defined.ts';
import { type BrandId, brandId, communityId, spaceId } from '../../src/domain/ids.ts';
import { MAX_INVITATIONS, THREAD_MESSAGE } from '../../src/domain/limits.ts';
import { picked } from '../../src/domain/picked.ts';
import type { Role } from '../../src/domain/roles.ts';
import { renderMail } from '../../src/mail/compose/layout.ts';
import { MailQueue } from '../../src/mail/mail-queue.ts';
import { accepted } from '../accepted.ts';
import { inDays } from '../in-days.ts';
import { fillDeliveries } from './busy-deliveries.ts';
import { type Running, startBusy } from './console.fixture.ts';

/** The viewers are Viewers of the community and of the brand, the desk and the planner Coordinators without amounts. */
export const READERS = ['community', 'viewer', 'desk', 'brand', 'brand-viewer', 'planner', 'visitor'] as const;
type Who = (typeof READERS)[number];
/** Whose pages have all controls. Other readers see fewer of the same. */
export const SEE_ALL: readonly Who[] = ['community', 'brand', 'visitor'];

/** A page of the console that a user may look at. */
export type PageOf = {
  readonly name: string;
  readonly who: Who;
  /** Undefined: no user is signed in. */
  readonly user: DemoUser | undefined;
  readonly path: string;
};

/** The longest that an address may be, without a place to break it. */
const LONG_ADDRESS = `${'x'.repeat(242)}@example.com`;
const CONTEXT = { actor: { kind: 'operator', id: 'busy' }, correlationId: 'busy' } as const;

/**
 * A busy service, and every kind of page of its console as the first community, the first brand and a visitor see them. The community has
 * a webhook with 2,000 deliveries too, to which nothing is sent.
 */
export async function startBusyPages(
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly running: Running; readonly pages: readonly PageOf[] }> {
  const running = await startBusy(env);
  return { running, pages: await pagesOf(running) };
}

/** Ten feeds of each of two users of the community, one of whom has left; the brand has none. */
async function addFeeds({ demo, service }: Running, account: Account, spaceId: number | undefined): Promise<void> {
  const { users, commands } = service.core;
  const known = await users.byEmail(demo.communities[0].user.email);
  for (const userId of [known?.id ?? '', 'usr_left'])
    for (let index = 0; index < 10; index += 1) {
      const shown = { showsNames: index % 2 === 0, ...defined({ spaceId: index % 3 === 0 ? undefined : spaceId }) };
      accepted(await commands.calendarFeeds.add({ userId, account, ...shown }, CONTEXT));
    }
}

/** Mails to two members of the community, one of whom was removed, that the mail server refused. */
async function addFailedMails({ demo, service: { core } }: Running): Promise<void> {
  const known = await core.users.byEmail(demo.communities[0].user.email);
  const queue = await MailQueue.open(core);
  const kinds = ['BookingRequested', 'AnswerDue', 'WebhookDisabled'] as const;
  for (const [index, kind] of kinds.entries()) {
    const userId = index === 0 ? 'usr_removed' : (known?.id ?? '');
    const about = { kind, cause: `event-${index}`, userId, account: 'Community:1' as const, about: {} };
    await queue.add({ ...about, at: toTimestamp(core.clock()) });
    const key = `${kind}:event-${index}:${userId}`;
    const document = await queue.get(key);
    if (document === undefined) throw new Error('The mail is not there');
    const response = `550 5.1.1 <${'x'.repeat(40)}>: there is no such mailbox here, or it takes no mail of strangers`;
    const outcome = { state: 'Failed', reason: 'The mail server refused it for good.' } as const;
    const attempt = { at: toTimestamp(core.clock()), code: 550, response };
    await queue.complete({ key, version: 1, document }, [attempt], outcome);
  }
}

/** As many open invitations as an account may have. @returns the paths of links */
async function addLinks({ demo, service, url: origin }: Running, account: Account) {
  const { users, invitations, passwordReset, addressConfirmation, clock } = service.core;
  const [{ user }] = demo.communities;
  const secondBrand: Account = { kind: 'Brand', id: brandId(demo.brands[1].id) };
  const invite = async (email: string) =>
    accepted(await invitations.invite({ account, role: 'Coordinator', email }, undefined, CONTEXT));
  const known = accepted(await users.requestEmail((await users.byEmail(user.email))?.id ?? '', LONG_ADDRESS, CONTEXT));
  for (let index = 1; index < MAX_INVITATIONS - 1; index += 1) await invite(`person-${index}@example.com`);
  const [stranger, member] = [await invite(LONG_ADDRESS), await invite(demo.brands[0].user.email)];
  const pathOf = ({ url }: { readonly url: string }) => url.slice(`${origin}/console/`.length);
  const own = accepted(
    await invitations.invite({ account: secondBrand, role: 'Viewer', email: user.email }, undefined, CONTEXT),
  );
  return {
    password: pathOf(passwordReset.mailed(known, clock())),
    address: pathOf(addressConfirmation.mailed(known, clock())),
    stranger: pathOf(invitations.mailed(stranger)),
    member: pathOf(invitations.mailed(member)),
    own: pathOf(invitations.printed(own)).replace('?', '/accept?'),
    unconfirmed: pathOf(invitations.mailed(own)).replace('?', '/accept?'),
  };
}

/** A mail with a long subject in the inbox of the service. @returns its id */
async function keepMail({ service: { core }, url }: Running): Promise<string> {
  const id = 'c0ffee';
  const mail = renderMail({
    subject: `A request of ${'x'.repeat(180)}`,
    intro: ['A brand asks for an hour.'],
    facts: [['Message', 'x'.repeat(500)]],
    action: { text: 'Answer it', url: `${url}/console/inbox` },
  });
  const sent = {
    ...mail,
    messageId: `<${id}@localhost>`,
    date: new Date(),
    userId: 'usr_1',
    calendar: 'BEGIN:VCALENDAR',
  };
  const to = `${'long.'.repeat(30)}name@example.com`;
  await core.mail.inbox?.sender.send({ ...sent, to }, new AbortController().signal);
  return id;
}

/** A request of the brand for five days, on pages of their own in the inbox. @returns its first day, and the request for it */
async function addSeries(
  { service }: Running,
  brand: BrandId,
): Promise<{ readonly date: string; readonly id: number }> {
  const dates = Array.from({ length: 5 }, (_, index) => inDays(300 + index));
  const ids: number[] = [];
  for (const date of dates) {
    const details = { spaceId: spaceId(1), date, startHour: 12, series: '0b5f3c1e-5f1d-4c53-9d0a-6f3f5a0c1d40' };
    ids.push(accepted(await service.core.commands.bookings.request({ brandId: brand, details }, CONTEXT)).bookingId);
  }
  return { date: inDays(300), id: ids[0] ?? 0 };
}

async function memberOf({ service }: Running, account: Account, role: Role): Promise<DemoUser> {
  const user = { email: `${role}.${account.kind}@example.com`.toLowerCase(), password: 'correct horse battery' };
  accepted(await service.core.users.add({ ...user, accounts: [account], role }, CONTEXT));
  return user;
}

async function pagesOf(running: Running): Promise<readonly PageOf[]> {
  const { demo, service } = running;
  const { core } = service;
  const [community] = demo.communities;
  const [brand] = demo.brands;
  const account: Account = { kind: 'Community', id: communityId(community.id) };
  const webhookId = await fillDeliveries(core, account, { url: 'http://127.0.0.1:9/hook', count: 2_000 });
  accepted(await core.commands.webhooks.disable({ webhookId, reason: 'The receiver answered 410 Gone' }, CONTEXT));
  const [failed] = await core.webhooks.listDeliveries({ webhookId, state: 'Failed', limit: 1 });
  const brandAccount: Account = { kind: 'Brand', id: brandId(brand.id) };
  const { bookings } = core.queries;
  const [waiting] = (await bookings.page(account, { list: { status: 'Pending' }, direction: 'ascending', limit: 1 }))
    .bookings;
  const [completed] = (
    await bookings.page(account, { list: { status: 'Completed' }, direction: 'descending', limit: 1 })
  ).bookings;
  const busyDay = inDays(7);
  const spaces = await core.queries.spaces.list(account);
  const longest = spaces.toSorted((a, b) => b.name.length - a.name.length)[0]?.spaceId;
  const week = { from: busyDay, to: inDays(13), start: 0, until: 24, title: 'Christmas' } as const;
  const wanted = { communityId: account.id, kind: 'Closure', ...week } as const;
  const closed = accepted(await core.commands.closures.add(wanted, CONTEXT));
  const question = { spaceId: longest ?? 0, brandId: brand.id, text: 'x'.repeat(THREAD_MESSAGE.max) };
  for (const by of [brandAccount, account])
    accepted(await core.commands.questions.send({ ...question, account: by }, CONTEXT));
  await addFeeds(running, account, spaces[0]?.spaceId);
  await addFailedMails(running);
  const links = await addLinks(running, account);
  const series = await addSeries(running, brandId(brand.id));
  const kept = await keepMail(running);
  const longWord = 'x'.repeat(200);
  const viewer = await memberOf(running, account, 'Viewer');
  const ofCommunity = {
    'not-found': 'nothing',
    questions: 'questions',
    question: `questions/${longest}-${brand.id}`,
    overview: 'overview',
    inbox: 'inbox',
    'inbox-series': `inbox?from=${series.date}`,
    series: `inbox/series/${series.id}`,
    month: 'calendar',
    week: `calendar/week/${busyDay}`,
    'week-now': 'calendar/week',
    'week-booking': `calendar/week/${waiting?.date}?booking=${waiting?.bookingId}`,
    day: `calendar/${busyDay}`,
    'day-booking': `calendar/${waiting?.date}?booking=${waiting?.bookingId}`,
    'day-space': `calendar/${busyDay}?space=${longest}`,
    closures: 'calendar/closures',
    'closure-new': 'calendar/closures/new?kind=Closure',
    'own-event-new': 'calendar/closures/new?kind=OwnEvent',
    'closure-import': 'calendar/closures/import',
    closure: `calendar/closures/${closed.closureId}`,
    'closure-change': `calendar/closures/${closed.closureId}/change`,
    bookings: 'bookings',
    'bookings-past': 'bookings?when=past',
    'bookings-none': `bookings?q=${longWord}`,
    'booking-waiting': `bookings/${waiting?.bookingId}`,
    decline: `bookings/${waiting?.bookingId}/decline`,
    'booking-completed': `bookings/${completed?.bookingId}`,
    customers: 'customers',
    'customers-none': `customers?q=${longWord}`,
    'customer-new': 'customers/new',
    customer: `customers/${completed?.brandId}`,
    'booking-enter': `bookings/enter?space=1&date=${busyDay}`,
    'free-times': `bookings/free?guests=20&date=${busyDay}`,
    'free-times-none': `bookings/free?guests=90000&date=${busyDay}`,
    spaces: 'spaces',
    'space-new': 'spaces/new',
    space: 'spaces/1',
    'space-hours': 'spaces/1/hours',
    'space-description': 'spaces/1/description',
    'space-duplicate': 'spaces/1/duplicate',
    'space-order': 'spaces/order',
    'space-public': 'spaces/public',
    'space-photos': 'spaces/1/photos',
    'house-photos': 'spaces/house/photos',
    house: 'spaces/house',
    community: 'spaces/community',
    'new-brands': 'spaces/new-brands',
    'turn-away': `brands/${waiting?.brandId}/turn-away?booking=${waiting?.bookingId}`,
    reviews: 'reviews',
    charges: 'charges',
    history: 'history',
    members: 'history?topic=members',
    'history-of-space': `history?of=space:${longest}`,
    keys: 'keys',
    feeds: 'feeds',
    'mail-settings': 'mail/settings',
    'mail-of-space': `mail/settings/space?space=${longest}`,
    'mail-contact': 'mail/contact',
    webhooks: 'webhooks',
    deliveries: 'webhooks/deliveries',
    'deliveries-wrong': 'webhooks/deliveries?q=%25',
    'deliveries-failed': 'webhooks/deliveries?state=Failed&event=BookingCancelled',
    webhook: `webhooks/${webhookId}`,
    delivery: `webhooks/${webhookId}/deliveries/${encodeURIComponent(failed?.deliveryId ?? '')}`,
    apps: 'apps',
    clients: 'clients',
    mail: 'mail',
    people: 'people',
    member: `people/${(await core.users.byEmail(viewer.email))?.id}`,
    account: 'account',
    'invitation-accept': links.own,
    'invitation-unconfirmed': links.unconfirmed,
    'invitation-of-another': links.stranger.replace('?', '/accept?'),
  };
  const ofBrand = {
    overview: 'overview',
    questions: 'questions',
    question: `questions/${longest}-${brand.id}`,
    find: 'find',
    'find-day': `find?date=${busyDay}`,
    'find-none': `find?name=${longWord}`,
    'find-space': `find/1?date=${busyDay}`,
    'find-saturdays': `find?month=${inDays(40).slice(0, 7)}&weekday=Saturday&guests=40&hour=18`,
    'find-shortlist': 'find/shortlist',
    'find-compare': 'find/compare?space=1&space=2&space=3&space=4',
    'find-month': `find/1/month?month=${busyDay.slice(0, 7)}`,
    bookings: 'bookings',
    'bookings-past': 'bookings?when=past',
    booking: 'bookings/3',
    'booking-series': `bookings/${series.id}`,
    'withdraw-series': `bookings/${series.id}/withdraw-series`,
    reviews: 'reviews',
    charges: 'charges',
    history: 'history',
    feeds: 'feeds',
    mail: 'mail',
    'mail-settings': 'mail/settings',
    'mail-contact': 'mail/contact',
  };
  const ofVisitor = {
    'sign-in': 'sign-in',
    'password-forgotten': 'password/forgotten',
    'password-sent': 'password/forgotten/sent',
    'password-new': links.password,
    'password-done': 'password/new/done',
    'link-ended': 'password/new?link=x',
    address: links.address,
    'address-done': 'address/done',
    invitation: links.stranger,
    'invitation-sign-in': links.member,
    'public-house': '/h/1',
    'public-room': '/h/1/1',
    embedded: '/embed/1',
    'sign-up': `/sign-up?space=${longest}&date=${busyDay}&startHour=9&guests=40&message=${longWord}`,
    'sign-up-sent': '/sign-up/sent',
    'sign-up-ended': '/sign-up/confirm?link=x',
    inbox: '/mail',
    'inbox-mail': `/mail/${kept}`,
  };
  // Where pages differ from those of a Manager, and one that is refused.
  const ofViewer = {
    ...picked(ofCommunity, [
      'overview',
      'inbox',
      'day',
      'day-booking',
      'closures',
      'closure',
      'booking-waiting',
      'spaces',
      'space',
    ]),
    ...picked(ofCommunity, ['feeds', 'apps', 'keys']),
  };
  const ofBrandViewer = picked(ofBrand, ['find-space', 'booking', 'feeds']);
  // What is left of the pages that have amounts.
  const ofDesk = {
    ...picked(ofCommunity, ['overview', 'inbox', 'day-booking', 'bookings', 'booking-waiting', 'booking-completed']),
    ...picked(ofCommunity, [
      'inbox-series',
      'series',
      'customers',
      'customer',
      'booking-enter',
      'spaces',
      'space',
      'charges',
      'history-of-space',
    ]),
  };
  const ofPlanner = picked(ofBrand, [
    'overview',
    'find',
    'find-space',
    'find-compare',
    'bookings',
    'booking',
    'booking-series',
    'withdraw-series',
  ]);
  const pages = (who: PageOf['who'], user: DemoUser | undefined, paths: Readonly<Record<string, string>>) =>
    Object.entries(paths).map(([name, path]) => ({
      name: `${who}-${name}`,
      who,
      user,
      path: path.startsWith('/') ? path : `/console/${path}`,
    }));
  return [
    ...pages('community', community.user, ofCommunity),
    ...pages('brand', brand.user, ofBrand),
    ...pages('visitor', undefined, ofVisitor),
    ...pages('desk', await memberOf(running, account, 'CoordinatorWithoutAmounts'), ofDesk),
    ...pages('planner', await memberOf(running, brandAccount, 'CoordinatorWithoutAmounts'), ofPlanner),
    ...pages('viewer', viewer, ofViewer),
    ...pages('brand-viewer', await memberOf(running, brandAccount, 'Viewer'), ofBrandViewer),
  ];
}
