import { onTestFinished, test } from 'vitest';
import { MONGODB, ownDatabase } from '../../document-store/engines.ts';
import { createOwnLog } from '../../event-store/eventstoredb/own-log.ts';
import { lacks } from '../../lacks.ts';
import { race } from './race.ts';

test.skipIf(lacks(MONGODB))(
  'eight processes race descriptions, photos, bookings and backups under kills: nothing lost, on EventStoreDB and MongoDB',
  { timeout: 3_600_000 },
  async () => {
    const log = await createOwnLog({ forProxy: true });
    onTestFinished(() => log.stop());
    await race('EventStoreDB and MongoDB', { ...log.settings, MONGODB_URL: ownDatabase() });
  },
);
