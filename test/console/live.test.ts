import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type Change, createLiveFeed } from '../../src/console/live/live.ts';
import type { DemoUser } from '../../src/demo/demo-file.ts';
import { brandId, communityId, spaceId } from '../../src/domain/ids.ts';
import { subjectOf } from '../../src/domain/personal-text.ts';
import type { StoredEvent } from '../../src/event-store/event-store.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
beforeAll(async () => {
  running = await startDemo();
});
afterAll(() => running.stop());

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

const signedIn = (user: DemoUser) => Browser.signedIn(running.url, user);

const request = (days: number, brand = 1) =>
  running.service.core.commands.bookings.request(
    { brandId: brandId(brand), details: { spaceId: spaceId(1), date: inDays(days), startHour: 10 } },
    CONTEXT,
  );

/** Connects as an open page does. */
async function listen(browser: Browser, after: string, topics: readonly string[] = []) {
  const stopping = new AbortController();
  const query = new URLSearchParams([['after', after], ...topics.map((topic) => ['topic', topic])]);
  const answer = await fetch(`${running.url}/console/live?${query}`, {
    headers: { cookie: `console=${browser.cookie('console')}` },
    signal: stopping.signal,
  });
  let text = '';
  let ended = false;
  const reading = (async () => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of answer.body ?? []) text += decoder.decode(chunk, { stream: true });
    } catch {
      // Stopped below.
    }
    ended = true;
  })();
  return {
    status: answer.status,
    messages: () =>
      [...text.matchAll(/^data: (.*)$/gm)].map(
        ([, data]) => JSON.parse(data ?? '') as { topic: string; announcement?: string },
      ),
    ended: () => ended,
    async stop() {
      stopping.abort();
      await reading;
    },
  };
}

const markOf = async (browser: Browser, path: string) =>
  /data-live="([^"]+)"/.exec((await browser.open(path)).text)?.[1] ?? '';

test('open pages refresh after a subject is erased, once its texts can no longer be read', async () => {
  const [harbour] = running.demo.communities;
  const browser = await signedIn(harbour.user);
  const stream = await listen(browser, await markOf(browser, '/console/bookings'));
  const { commands, queries } = running.service.core;
  const brand = { kind: 'Brand', id: brandId(2) } as const;
  const booking = await commands.bookings.request(
    {
      brandId: brand.id,
      details: { spaceId: spaceId(1), date: inDays(40), startHour: 10, message: 'Quittengelb' },
    },
    CONTEXT,
  );
  const { bookingId } = accepted(booking);
  expect((await browser.open(`/console/bookings/${bookingId}`)).text).toContain('Quittengelb');
  const told = stream.messages().length;
  const forgetting = commands.personalData.forget(subjectOf(brand), CONTEXT);
  await eventually(() => expect(stream.messages().slice(told)).toContainEqual({ topic: '' }));
  const { text } = await browser.open(`/console/bookings/${bookingId}`);
  expect(text).not.toContain('Quittengelb');
  expect(text).toContain('<p class="quote" dir="auto">erased</p>');
  accepted(await forgetting);
  expect(await queries.bookings.get(brand, bookingId)).toMatchObject({ message: 'erased' });
  await stream.stop();
});

test('a new request is announced to its community and brand, and the changed availability to those who may see it', async () => {
  const [harbour, union] = running.demo.communities;
  const [northwind, juniper] = running.demo.brands;
  const browsers = await Promise.all([harbour, union, northwind, juniper].map((one) => signedIn(one.user)));
  const hours = { topic: `hours:1:${inDays(30)}` };
  const streams = await Promise.all(
    browsers.map(async (one) => listen(one, await markOf(one, '/console/bookings'), [hours.topic, 'hours:2:nope'])),
  );
  const [own, foreign, asking, rival] = streams;
  const elsewhere = await listen(browsers[3] ?? expect.fail(), '');
  await request(30);
  const announcement = {
    topic: '',
    announcement: 'New request: \u2068Harbour Hall\u2069, \u2068Northwind Coffee\u2069',
  };
  await eventually(() => {
    expect(own?.messages()).toEqual([announcement, hours]);
    expect(asking?.messages()).toEqual([announcement, hours]);
    expect(rival?.messages()).toEqual([hours]);
  });
  expect(foreign?.messages()).toEqual([]);
  // A page without these hours, whose mark is not known.
  expect(elsewhere.messages()).toEqual([{ topic: '*' }]);
  await Promise.all([...streams, elsewhere].map((stream) => stream.stop()));
});

test('a change between rendering a page and connecting is not lost', async () => {
  const browser = await signedIn(running.demo.communities[0].user);
  const mark = await markOf(browser, '/console/inbox');
  expect(mark).toMatch(/^[0-9a-f]+-\d+$/);
  const { bookingId } = accepted(await request(31));
  await eventually(async () =>
    expect((await browser.open('/console/inbox')).text).toContain(`/console/bookings/${bookingId}`),
  );
  const stream = await listen(browser, mark);
  await eventually(() => expect(stream.messages()).toContainEqual(expect.objectContaining({ topic: '' })));
  await stream.stop();

  const unknown = await listen(browser, 'another-process-7');
  await eventually(() => expect(unknown.messages()).toContainEqual(expect.objectContaining({ topic: '*' })));
  await unknown.stop();
});

test('a change while a page is being rendered is not lost', async () => {
  const browser = await signedIn(running.demo.communities[0].user);
  const watching = await listen(browser, await markOf(browser, '/console/inbox'));
  const { bookings } = running.service.core.queries;
  const { count } = bookings;
  // The number of open requests is read after the requests themselves.
  const spy = vi.spyOn(bookings, 'count').mockImplementationOnce(async (...asked) => {
    accepted(await request(34));
    await eventually(() => expect(watching.messages()).not.toEqual([]));
    return count(...asked);
  });
  const page = await browser.open('/console/inbox');
  spy.mockRestore();
  const stream = await listen(browser, /data-live="([^"]+)"/.exec(page.text)?.[1] ?? '');
  await eventually(() => expect(stream.messages()).toContainEqual(expect.objectContaining({ topic: '' })));
  await Promise.all([stream, watching].map((each) => each.stop()));
});

test('the log subscription exists only while pages are connected', async () => {
  const { events, projector, webhooks, logger } = running.service.core;
  const signals: (AbortSignal | undefined)[] = [];
  const feed = createLiveFeed({
    events: {
      ...events,
      lastEvent: () => events.lastEvent(),
      subscribe(options) {
        signals.push(options.signal);
        return events.subscribe(options);
      },
    },
    readModels: projector.readModels,
    webhooks,
    logger,
    followedForMs: 50,
  });
  expect(signals).toEqual([]);
  const mark = await feed.mark();
  await eventually(() => expect(signals.map((signal) => signal?.aborted)).toEqual([true]));

  const again = await feed.mark();
  expect(again).not.toBe(mark);
  const page = { account: { kind: 'Brand', id: brandId(1) }, topics: new Set<string>(), onChange: () => {} } as const;
  const { caughtUp, stop } = feed.subscribe(page, mark);
  expect(caughtUp).toBe(false);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, false]);
  stop();
  await eventually(() => expect(signals.at(-1)?.aborted).toBe(true));
  await feed.stop();
});

test('once a change is announced, the page shows it', async () => {
  const browser = await signedIn(running.demo.communities[0].user);
  const stream = await listen(browser, await markOf(browser, '/console/inbox'));
  const made = accepted(await request(32));
  await eventually(() => expect(stream.messages()).not.toEqual([]));
  expect((await browser.open('/console/inbox')).text).toContain(`/console/bookings/${made.bookingId}`);
  await stream.stop();
});

test('the author of a change gets no announcement, and a signed-out browser gets no stream', async () => {
  const browser = await signedIn(running.demo.communities[0].user);
  const made = accepted(await request(33));
  const page = await browser.open('/console/inbox');
  const stream = await listen(browser, await markOf(browser, '/console/inbox'), [`hours:1:${inDays(33)}`]);
  await browser.send(page, `/console/bookings/${made.bookingId}/approve`);
  // The hours of the day change too: the requested hour is now booked.
  await eventually(() => expect(stream.messages()).toEqual([{ topic: '' }, { topic: `hours:1:${inDays(33)}` }]));
  await stream.stop();
  expect((await listen(new Browser(running.url), '')).status).toBe(204);
});

test('a closure of many days is one message about the account, and one about the hours that a page shows', async () => {
  const [harbour] = running.demo.communities;
  const browser = await signedIn(harbour.user);
  const hours = `hours:1:${inDays(110)}`;
  const mark = await markOf(browser, '/console/calendar/closures');
  const stream = await listen(browser, mark, [hours]);
  const { closures } = running.service.core.commands;
  const range = { from: inDays(100), to: inDays(200), start: 0, until: 24 } as const;
  accepted(await closures.add({ communityId: communityId(harbour.id), kind: 'Closure', ...range }, CONTEXT));
  await eventually(() => expect(stream.messages()).toContainEqual({ topic: hours }));
  await request(60);
  await eventually(() => expect(stream.messages().some(({ announcement }) => announcement !== undefined)).toBe(true));
  const days = stream.messages().filter(({ topic, announcement }) => topic === '' && announcement === undefined);
  expect(days.length).toBeLessThan(10);
  expect(stream.messages().filter(({ topic }) => topic.startsWith('hours:'))).toEqual([{ topic: hours }]);
  await stream.stop();
});

test('a page returned by a form submission has no live updates', async () => {
  const browser = await signedIn(running.demo.communities[0].user);
  const form = await browser.open('/console/keys');
  expect(form.text).toContain('data-live="');
  expect((await browser.send(form, '/console/keys', { label: '' })).text).not.toContain('data-live="');
});

test('stopping the service closes open connections', async () => {
  const second = await startDemo();
  const browser = new Browser(second.url);
  await browser.signIn(second.demo.communities[0].user);
  const answer = await fetch(`${second.url}/console/live`, {
    headers: { cookie: `console=${browser.cookie('console')}` },
  });
  const [, text] = await Promise.all([second.stop(), answer.text()]);
  expect(text).toContain('retry: 2000');
});

test('a page that connects again while changes are gathered misses none of them, and hears of none twice', async () => {
  const { events } = running.service.core;
  const closed = await Array.fromAsync(events.readAll({ types: ['TimeClosed'] }));
  const [first, second] = closed.filter(({ data }) => data.communityId === 1);
  if (first === undefined || second === undefined) throw new Error('No closed times');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { readable, writable } = new TransformStream<StoredEvent, StoredEvent>();
  const writer = writable.getWriter();
  const feed = createLiveFeed({
    events: {
      ...events,
      lastEvent: () => events.lastEvent(),
      async *subscribe() {
        for await (const event of readable) yield { events: [event], position: event.position, caughtUp: true };
      },
    },
    readModels: { ...running.service.core.projector.readModels, waitFor: async () => true },
    webhooks: running.service.core.webhooks,
    logger: running.service.core.logger,
  });
  const turns = async () => {
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
  };
  const heard: string[] = [];
  const hoursOf = ({ data }: StoredEvent) => `hours:${data.spaceId}:${data.date}`;
  const page = {
    account: { kind: 'Community', id: communityId(1) },
    topics: new Set(['', hoursOf(first), hoursOf(second)]),
    onChange: ({ topic }: Change) => void heard.push(topic),
  } as const;
  const { stop } = feed.subscribe(page, await feed.mark());
  await writer.write(first);
  await turns();
  vi.advanceTimersByTime(200);
  await writer.write(second);
  await turns();
  vi.advanceTimersByTime(50);
  expect(heard).toEqual(['', hoursOf(first)]);
  // The second day is still to come.
  const mark = feed.notifiedMark();
  stop();
  heard.length = 0;
  expect(feed.subscribe(page, mark).caughtUp).toBe(true);
  expect(heard).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(heard).toEqual([hoursOf(second)]);
  // A page that was made meanwhile shows it already.
  heard.length = 0;
  feed.subscribe(page, await feed.mark());
  vi.advanceTimersByTime(1_000);
  expect(heard).toEqual([]);
  await writer.close();
  await feed.stop();
});
