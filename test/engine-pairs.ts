import { randomBytes } from 'node:crypto';
import { MONGODB, ofThisSuite, ownDatabase } from './document-store/engines.ts';
import { createOwnLog } from './event-store/eventstoredb/own-log.ts';
import { lacks } from './lacks.ts';

/** The settings of a service on a pair of engines, whose stores are empty. */
export type EnginePair = { readonly settings: Readonly<Record<string, string>>; stop(): Promise<void> };

const embedded = async (): Promise<EnginePair> => ({ settings: {}, stop: async () => {} });

/** The EventStoreDB of `EVENTSTORE_URL`, or the gRPC test server, and whichever MongoDB is available here. */
const production = async (): Promise<EnginePair> => {
  const log = await createOwnLog();
  const settings = {
    ...log.settings,
    MONGODB_URL: ownDatabase(),
    SECRET_KEY: randomBytes(32).toString('base64'),
  };
  return { settings, stop: () => log.stop() };
};

/** The pairs to test on, by name. */
export const enginePairs = ofThisSuite<readonly [name: string, open: () => Promise<EnginePair>]>(
  [['the embedded engines', embedded]],
  lacks(MONGODB) ? [] : [['EventStoreDB and MongoDB', production]],
);
