import { test } from 'vitest';
import { race } from './race.ts';

test(
  'eight processes race descriptions, photos, bookings and backups under kills: nothing lost, on the embedded engines',
  {
    timeout: 3_600_000,
  },
  () => race('the embedded engines', {}),
);
