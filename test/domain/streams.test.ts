import { expect, test } from 'vitest';
import { LATER_STREAM_KINDS, STREAM_KINDS, streamOf } from '../../src/domain/streams.ts';

test('the name of every stream begins with its kind, by which the store recognises its own streams', () => {
  const names = [
    streamOf.log,
    streamOf.spaceDay(3, '2026-12-10'),
    streamOf.community(1),
    streamOf.space(3),
    streamOf.brand(2),
    streamOf.review(9),
    streamOf.apiKey('k'),
    streamOf.webhook('w'),
    streamOf.member('usr_1'),
    streamOf.oauthClient('client_1'),
    streamOf.subject('user:usr_1'),
    streamOf.readModel('bookings'),
    streamOf.sequence('booking'),
    streamOf.venue_closure('clo_1'),
    streamOf.venue_feeds('usr_1'),
    streamOf.venue_invitation('inv_1'),
    streamOf.venue_admission(1, 2),
    streamOf.venue_customer(1, 2),
    streamOf.venue_thread(1),
    streamOf.venue_question(1, 2),
  ];
  expect(names.map((name) => name.split('-', 1)[0])).toEqual(STREAM_KINDS);
});

test('releases recognise the streams of kinds they do not know, so that all seal the same log', () => {
  // These are the kinds of the first release that seals. It has to recognise kinds that are added later.
  const first = [
    ...['log', 'spaceDay', 'community', 'space', 'brand', 'review', 'apiKey', 'webhook', 'member', 'oauthClient'],
    ...['subject', 'readModel', 'sequence'],
  ];
  expect(STREAM_KINDS).toEqual(expect.arrayContaining(first));
  expect(STREAM_KINDS.filter((kind) => !first.includes(kind) && !LATER_STREAM_KINDS.test(kind))).toEqual([]);
  // Not what another application or another store, with a prefix, has.
  for (const theirs of ['venue', 'venue_', 'venue_a.space', 'order', 'Venue_x', 'a.venue_x'])
    expect(LATER_STREAM_KINDS.test(theirs), theirs).toBe(false);
  expect(LATER_STREAM_KINDS.test('venue_waitingList')).toBe(true);
});
