import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = new URL('../..', import.meta.url).pathname;

/** html.grit checks the templates; this also finds texts that are put into them, and code around them. */
test('no line of pages and mails is longer than 140 characters', () => {
  const files = globSync('src/{authorization-server,console,html,mail}/**/*.ts', { cwd: ROOT });
  const isLong = (line: string) => line.length > 140 && !/^\s*(\/\/|\/?\*)/.test(line);
  const long = files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => (isLong(line) ? [`${file}:${index + 1}`] : [])),
  );
  expect(files.length).toBeGreaterThan(100);
  expect(long).toEqual([]);
});

const SOURCE = globSync('{src,projections}/**/*.{ts,js}', { cwd: ROOT });
const linesOf = (file: string): readonly string[] => readFileSync(join(ROOT, file), 'utf8').trimEnd().split('\n');

test('no line of source is longer than 160 characters', () => {
  const long = SOURCE.flatMap((file) =>
    linesOf(file).flatMap((line, index) => (line.length > 160 ? [`${file}:${index + 1}`] : [])),
  );
  expect(long).toEqual([]);
});

test('no file of source has more than 400 lines', () => {
  expect(SOURCE.filter((file) => linesOf(file).length > 400)).toEqual([]);
});
