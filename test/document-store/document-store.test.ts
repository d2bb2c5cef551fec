import { describe } from 'vitest';
import { documentStoreContract } from '../contract/document-store.ts';
import { documentEngines, mongoServer } from './engines.ts';

const standIn = 'real' in mongoServer && !mongoServer.real;

describe.each(documentEngines)('document store on %s', (name, createDatabase) =>
  documentStoreContract(createDatabase, name === 'MongoDB' && standIn),
);
