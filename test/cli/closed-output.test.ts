import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

test('a command ends quietly when its reader closes the pipe, like SIGPIPE', async () => {
  const child = spawn(process.execPath, ['src/cli.js', '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(said).toBe('');
  expect(code).toBe(141);
});
