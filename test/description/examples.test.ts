import { expect, test } from 'vitest';
import { recordExamples } from './record-examples.ts';

test('the examples equal the answers and deliveries of a running service (after a change: npm run describe)', async () => {
  const recorded = `${JSON.stringify(await recordExamples(), null, 2)}\n`;
  await expect(recorded).toMatchFileSnapshot('../../src/description/examples.json');
});
