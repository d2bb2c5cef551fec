import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Bells, openBells } from '../../src/runtime/bells.ts';
import { eventually } from '../eventually.ts';

let parent: string;
let folder: string;
const opened: Bells[] = [];
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'venue-bells-'));
  folder = join(parent, 'bells');
});
afterEach(async () => {
  for (const bells of opened.splice(0)) bells.close();
  await rm(parent, { recursive: true, force: true });
});

/** The bells as a thread of a process has them. */
function open(process: string) {
  const heard: number[] = [];
  const bells = openBells(folder, () => heard.push(performance.now()), process);
  opened.push(bells);
  return { ...bells, heard };
}

test('a process hears others, also one that has come later, but not itself', async () => {
  const first = open('first');
  first.ring();
  const second = open('second');
  await eventually(() => {
    second.ring();
    expect(first.heard.length).toBeGreaterThan(3);
  });
  await eventually(() => {
    first.ring();
    expect(second.heard.length).toBeGreaterThan(3);
  });

  second.close();
  const thread = open('first');
  const before = first.heard.length;
  for (let i = 0; i < 20; i += 1) thread.ring();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(first.heard.length).toBe(before);
});

test('a process that is alone does not ring: one that was killed long ago is cleared away', async () => {
  open('killed').close();
  const long = new Date(Date.now() - 3_600_000);
  await utimes(join(folder, 'killed'), long, long);
  open('alone').ring();
  expect(await readdir(folder)).toEqual(['alone']);
});

test('does without a folder that cannot be had', async () => {
  await writeFile(folder, 'a file');
  const bells = open('first');
  bells.ring();
  bells.close();
  expect(bells.heard).toEqual([]);
});
