import { beforeAll, describe, expect, test } from 'vitest';
import { openMongoDocumentStore } from '../../../src/document-store/mongodb/document-store.ts';
import {
  countedFaults,
  documentReads,
  expectWholeOrThrown,
  type Faults,
  fillDocuments,
  openDocumentSubject,
} from '../../contract/reads-under-faults.ts';
import { lacks } from '../../lacks.ts';
import { type Drops, startProxyTo } from '../../proxy.ts';
import { ask } from '../ask.ts';
import { MONGODB, ownDatabase } from '../engines.ts';
import { commandIn } from './commands.ts';
import { withOptions } from './server-url.ts';

/** The fault of a command: it does not arrive, or its answer is lost in whole or in half. */
const LOSSES = ['command', 'answer', 'half of the answer'] as const;

/** The driver’s own commands, by which it monitors the server. */
const OF_THE_DRIVER = /^(hello|ismaster|isMaster|endSessions|killCursors)$/;

describe.skipIf(lacks(MONGODB))('reads of documents on MongoDB yield everything or throw', () => {
  let url: string;
  beforeAll(async () => {
    url = ownDatabase();
    const store = await openMongoDocumentStore({ url });
    await fillDocuments(await openDocumentSubject(store));
    await store.close();
  });

  /** Loses commands or their answers. */
  function losing(lost: (typeof LOSSES)[number]): Faults & { readonly drops: Drops } {
    const { faults, fails } = countedFaults();
    const answers = new Set<number>();
    return {
      arm: faults.arm,
      disarm() {
        answers.clear();
        return faults.disarm();
      },
      drops(passing, chunk, connection) {
        if (passing === 'answer') return answers.delete(connection) && (lost === 'answer' || 'half');
        const command = passing === 'request' ? commandIn(chunk) : undefined;
        if (command === undefined || OF_THE_DRIVER.test(command.name) || !fails()) return false;
        if (lost === 'command') return true;
        answers.add(connection);
        return false;
      },
    };
  }

  async function opened(drops: Drops) {
    const proxy = await startProxyTo(url, drops);
    const store = await openMongoDocumentStore({ url: withOptions(proxy.url, IMPATIENT) });
    return {
      store,
      async close() {
        await store.close();
        proxy.close();
      },
    };
  }

  describe.each(LOSSES)('without the %s', (lost) => {
    test.concurrent.each(Object.entries(documentReads))('%s', { timeout: 120_000 }, async (_, read) => {
      const faults = losing(lost);
      const { store, close } = await opened(faults.drops);
      const subject = await openDocumentSubject(store);
      try {
        await expectWholeOrThrown(read, { open: async () => subject, faults });
      } finally {
        await close();
      }
    });
  });

  test('a read throws when its store is closed', async () => {
    const { store, close } = await opened(() => false);
    const { records } = await openDocumentSubject(store);
    const found: unknown[] = [];
    const reading = (async () => {
      for await (const each of records.find(ask())) {
        found.push(each);
        if (found.length === 10) await close();
      }
    })();
    await expect(reading).rejects.toThrow();
  });
});

/** Without this setting the driver looks for a lost server only twice a second. Allows for a start on a loaded machine. */
const IMPATIENT = { minHeartbeatFrequencyMS: 20, serverSelectionTimeoutMS: 5_000 };
