import { expect, test } from 'vitest';
import { STREAM_KINDS, streamOf } from '../../src/domain/streams.ts';

test('the name of every stream begins with its kind, by which the store knows what is its own', () => {
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
  ];
  expect(names.map((name) => name.split('-', 1)[0])).toEqual(STREAM_KINDS);
});
