import { expect, test } from 'vitest';
import { temporaryDataDir } from '../service/service-process.ts';
import { inProcess, json, useDataDir } from './in-process.ts';

test('replaying an event that is not parked is refused, and replaying all is allowed when none are parked', async () => {
  useDataDir(temporaryDataDir());
  expect(await json('parked', 'replay')).toEqual({ replayed: 0 });
  expect(await inProcess('parked', 'replay', 'unknown')).toMatchObject({
    code: 1,
    stderr: 'ResourceNotFound: There is no parked event unknown.\n',
  });
});
