import { describe } from 'vitest';
import { documentStoreContract } from '../contract/document-store.ts';
import { reportEngine } from '../engines.ts';
import { documentEngines } from './engines.ts';

describe.each(documentEngines)('document store on %s', (name, place) => {
  reportEngine('document store', name, 'tested');
  documentStoreContract(place);
});
