import { expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import { createResizer } from '../../src/photos/resizer.ts';
import { jpeg } from './pictures.ts';

/** A process that runs this instead of resizing. */
const running = (script: string, endsWithinMs = 10_000) =>
  createResizer({ command: ['--input-type=module', '--eval', script], endsWithinMs });
const UNAVAILABLE = { name: 'Unavailable', publicMessage: 'Photos cannot be taken at the moment' };

test('a process that hangs is ended, and the photo refused', async () => {
  const began = performance.now();
  const resize = running('for (;;);', 300);
  const refused = await resize(Buffer.from('x'), 'a');
  expect(refused).toMatchObject({ refused: 'ValidationError', details: 'photo takes too long to read.' });
  expect(performance.now() - began).toBeLessThan(5_000);
});

test.each([
  ['dies', 'process.kill(process.pid, "SIGKILL")'],
  ['cannot load what it needs', 'import "no-such-package"'],
  ['answers nothing', ''],
  ['answers what is no photo', `console.log('{"width":10,"height":10,"lengths":[1,1,1]}\\nabc')`],
  ['answers more than it says', `console.log('{"width":10,"height":10,"lengths":[0,0,0]}\\nabc')`],
  ['names a size that there is not', `console.log('{"width":99999,"height":10,"lengths":[]}')`],
  ['answers without end', 'const more = () => process.stdout.write("x".repeat(1e6), more); more()'],
])('a process that %s makes photos unavailable, and no answer of it is believed', async (_, script) => {
  await expect(running(script)(Buffer.from('x'), 'a')).rejects.toMatchObject(UNAVAILABLE);
});

test('the process has no environment, and so no secret', async () => {
  process.env.SECRET_OF_TEST = 'secret';
  const script =
    'const names = Object.keys(process.env); if (names.join() !== "MALLOC_ARENA_MAX") console.log("{}");' +
    `else console.log('{"unusable":"WrongShape"}')`;
  const refused = await running(script)(Buffer.from('x'), 'a');
  delete process.env.SECRET_OF_TEST;
  expect(isRefusal(refused)).toBe(true);
});

test('accounts take turns, and a photo that waits too long is told so', async () => {
  const order: string[] = [];
  const resize = createResizer({ atOnce: 1 });
  const photo = await jpeg('#111', 200, 200);
  const one = (account: string) => resize(photo, account).then(() => order.push(account));
  await Promise.all([one('a'), one('a'), one('a'), one('b')]);
  expect(order).toEqual(['a', 'a', 'b', 'a']);
  const busy = createResizer({ atOnce: 1, withinMs: 50 });
  const both = await Promise.allSettled([busy(photo, 'a'), busy(photo, 'a')]);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
});
