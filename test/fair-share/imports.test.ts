import { afterAll, beforeAll, expect, test } from 'vitest';
import { communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

const LINES = 1_500;

let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.stop());

test('the lines of a file are checked in many turns of the event loop, also if their days are in memory', async () => {
  const community = await service.community('UTC');
  const space = await service.space(community, { windowStart: 0, windowEnd: 23 });
  service.time.now = Date.now();
  const lines = Array.from({ length: LINES }, (_, index) => {
    const start = 3 * Math.floor(index / 500);
    return `${inDays(30 + (index % 500))},${start},${start + 2},${space}`;
  });
  const file = Buffer.from(`date,start,end,space\n${lines.join('\n')}`);
  const options = { communityId: communityId(community.id), isDryRun: true };
  const { importClosures } = service.core.commands;
  accepted(await importClosures(file, options, CONTEXT));

  const handled = [0];
  const immediate = () => {
    handled.unshift(0);
    next = setImmediate(immediate);
  };
  let next = setImmediate(immediate);
  let before = 0;
  const progress = ({ done }: { readonly done: number }) => {
    handled[0] = (handled[0] ?? 0) + done - before;
    before = done;
  };
  const checked = accepted(await importClosures(file, { ...options, progress }, CONTEXT));
  clearImmediate(next);
  expect(checked).toMatchObject({ lines: LINES, added: LINES });
  expect(Math.max(...handled)).toBeLessThan(LINES / 3);
});
