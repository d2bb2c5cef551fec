import { afterAll, beforeAll, expect, test } from 'vitest';
import { roomPath } from '../../src/console/parts/public-addresses.ts';
import { spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { type Running, startDemo } from './console.fixture.ts';

/** A community answers the reviews of its spaces, each once. */

let running: Running;
let community: Browser;
let brand: Browser;
const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

beforeAll(async () => {
  running = await startDemo();
  community = new Browser(running.url);
  await community.signIn(running.demo.communities[0].user);
  brand = new Browser(running.url);
  await brand.signIn(running.demo.brands[0].user);
});
afterAll(() => running.stop());

test('an answer is shown wherever its review is, and there is no second one', async () => {
  const page = (await community.open('/console/reviews')).text;
  const [, path = expect.fail()] = /href="(\/console\/bookings\/\d+)#review"/.exec(page) ?? [];
  const form = await community.open(path);
  const wrong = await community.send(form, `${path}/answer`, { answer: ' ' });
  expect(wrong.status).toBe(422);
  const answered = await community.send(form, `${path}/answer`, { answer: 'Come back <soon>.' });
  expect(answered.flash).toContain('Your answer has been published.');
  expect(answered.text).toContain('Come back &lt;soon&gt;.');
  expect(answered.text).not.toContain('Publish answer');
  const again = await community.send(form, `${path}/answer`, { answer: 'And again.' });
  expect(again.flash).toContain('has already been answered');

  expect((await community.open('/console/reviews')).text).toContain('Come back &lt;soon&gt;.');
  expect((await brand.open('/console/reviews')).text).toContain('Come back &lt;soon&gt;.');
  const hall = spaceId(running.demo.communities[0].spaces[0].id);
  expect((await brand.open(`/console/find/${hall}`)).text).toContain('Come back &lt;soon&gt;.');

  const published = { spaceId: hall, wanted: { published: true } } as const;
  accepted(await running.service.core.commands.catalogue.describeSpace(published, CONTEXT));
  const { space, community: house } = (await running.service.core.queries.published.space(hall)) ?? expect.fail();
  const anyone = new Browser(running.url);
  expect((await anyone.open(roomPath(house, space))).text).toContain('Come back &lt;soon&gt;.');
});
