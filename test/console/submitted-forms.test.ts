import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSubmittedForms, type SubmitOnce } from '../../src/console/sessions/submitted-forms.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { html } from '../../src/html/html.ts';
import { OutcomeUnknown, Unavailable } from '../../src/runtime/unavailable.ts';

const DONE = { go: '/done' };
const REFUSED = { title: 'Wrong', main: html`Wrong`, problems: { name: 'Give a name.' } };

let folder: string;
let documents: OperatedDocumentStore;
/** Two processes: the second has no answers in memory. */
let first: SubmitOnce;
let second: SubmitOnce;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-forms-'));
  documents = await openSqliteDocumentStore({ folder });
  [first, second] = [
    await openSubmittedForms({ documents, clock: Date.now }),
    await openSubmittedForms({ documents, clock: Date.now }),
  ];
});
afterEach(async () => {
  await documents.close();
  await rm(folder, { recursive: true });
});

const fails = (error: Error) => async () => Promise.reject(error);
const acts = async () => DONE;

test('a form that took effect says so in another process', async () => {
  expect(await first('session', 'token', acts)).toEqual(DONE);
  expect(await second('session', 'token', acts)).toEqual({ before: 'done' });
});

test.each([
  ['was refused', async () => REFUSED],
  ['had no effect', fails(new Unavailable('The log does not answer'))],
])('a form that %s may be sent again', async (_, action) => {
  await first('session', 'token', action).catch(() => {});
  expect(await second('session', 'token', acts)).toEqual(DONE);
});

test.each([
  ['timed out', new OutcomeUnknown('The log did not answer in time')],
  ['failed unexpectedly, perhaps after its effect', new Error('A bug')],
])('a form that %s does not act twice, and says that its outcome is unknown', async (_, error) => {
  await expect(first('session', 'token', fails(error))).rejects.toThrow(error.message);
  expect(await second('session', 'token', acts)).toEqual({ before: 'unknown' });
});
