import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { temporaryDataDir } from './service/service-process.ts';

test('npm run check refuses a version that the changelog does not begin with, or says nothing about', () => {
  const script = new URL('../.ci/check-changelog.mjs', import.meta.url).pathname;
  expect(manifest.scripts.check).toContain('check:changelog');
  expect(manifest.scripts['check:changelog']).toBe('node .ci/check-changelog.mjs');
  const folder = temporaryDataDir();
  writeFileSync(join(folder, 'package.json'), '{"version":"1.2.0"}');
  const check = (changelog: string) => {
    writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
    const { status, stderr } = spawnSync(process.execPath, [script], { cwd: folder, encoding: 'utf8' });
    return status === 0 ? 'accepted' : stderr;
  };
  const refused = expect.stringMatching(/^CHANGELOG.md: its first section must be "## 1\.2\.0".+\n$/);
  expect([
    check('# Changes\n\n## 1.2.0 (2026-12-01)\n\n- A change.\n\n## 1.1.0\n\n- Another.\n'),
    check('# Changes\n\n## 1.1.0\n\n- Another.\n'),
    check('# Changes\n\n## 1.1.0\n\n- Another.\n\n## 1.2.0\n\n- A change.\n'),
    check('# Changes\n\n## 1.2.0\n\n## 1.1.0\n\n- Another.\n'),
    check('# Changes\n\n## 1.2.01\n\n- A change.\n'),
    check(''),
  ]).toEqual(['accepted', refused, refused, refused, refused, refused]);
});
