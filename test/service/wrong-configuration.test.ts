import { expect, test } from 'vitest';
import { runNode } from './node-process.ts';
import { temporaryDataDir } from './service-process.ts';

test.each([
  ['PORT', '99999'],
  ['DATA_DIR', '/dev/null/nowhere'],
])('with %s=%s the start fails with 2 and one line that names the variable', async (variable, value) => {
  const ended = await runNode('src/main.ts', [], { DATA_DIR: temporaryDataDir(), [variable]: value });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toMatch(new RegExp(`^${variable}: .+\n$`));
});
