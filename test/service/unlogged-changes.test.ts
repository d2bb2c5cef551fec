import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { type Account, OPERATOR } from '../../src/domain/account.ts';
import { brandId } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR, openUsers } from '../auth/change-log.ts';
import { eventually } from '../eventually.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

const BRAND: Account = { kind: 'Brand', id: brandId(1) };

test('a service appends the unlogged events of a dead process', async () => {
  const dataDir = temporaryDataDir();
  await venue(dataDir, 'brand', 'add', '--name', 'Acme');
  const documents = await openSqliteDocumentStore({ folder: dataDir });
  const { users, log } = await openUsers(documents, Date.now);
  log.fails(true);
  const ada = { email: 'ada@example.com', password: 'correct horse battery', accounts: [BRAND] };
  const { id } = accepted(await users.add(ada, BY_OPERATOR));
  await documents.close();

  const service = await startServiceProcess(dataDir, { DEMO: 'false' });
  const events = await openSqliteEventStore({ path: join(dataDir, 'events.db') });
  await eventually(async () =>
    expect(await Array.fromAsync(events.readStream(streamOf.member(id)))).toMatchObject([
      {
        type: 'MemberAdded',
        data: { userId: id, account: BRAND },
        metadata: { actor: OPERATOR, correlationId: 'test' },
      },
    ]),
  );
  await events.close();
  expect(await service.end('SIGTERM')).toBe(0);
});
