import { onTestFinished, test } from 'vitest';
import { MONGODB, ownDatabase } from '../document-store/engines.ts';
import { createOwnLog } from '../event-store/eventstoredb/own-log.ts';
import { lacks } from '../lacks.ts';
import { search } from './search.ts';

test.skipIf(lacks(MONGODB))(
  'what clients of eight processes see can have happened, on EventStoreDB and MongoDB',
  { timeout: 3_600_000 },
  async () => {
    const log = await createOwnLog({ forProxy: true });
    onTestFinished(() => log.stop());
    await search('EventStoreDB and MongoDB', { ...log.settings, MONGODB_URL: ownDatabase() });
  },
);
