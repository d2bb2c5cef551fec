import { describe } from 'vitest';
import { documentStoreContract } from '../contract/document-store.ts';
import { reportEngine } from '../engines.ts';
import { documentEngines, mongoServer } from './engines.ts';

reportEngine('document store', 'SQLite', 'tested');
reportEngine(
  'document store',
  'MongoDB',
  'missing' in mongoServer ? `not tested: ${mongoServer.missing}` : `tested on ${mongoServer.name}`,
);

const standIn = 'real' in mongoServer && !mongoServer.real;

describe.each(documentEngines)('document store on %s', (name, createDatabase) =>
  documentStoreContract(createDatabase, name === 'MongoDB' && standIn),
);
