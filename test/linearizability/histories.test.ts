import { test } from 'vitest';
import { search } from './search.ts';

test('what clients of eight processes see can have happened, on the embedded engines', { timeout: 3_600_000 }, () =>
  search('the embedded engines', {}),
);
