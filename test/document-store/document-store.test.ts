import { describe } from 'vitest';
import { documentStoreContract } from '../contract/document-store.ts';
import { documentEngines, REAL_MONGODB } from './engines.ts';

describe.each(documentEngines)('document store on %s', (name, createDatabase) =>
  documentStoreContract(createDatabase, name === 'MongoDB' ? REAL_MONGODB : undefined),
);
