import { localDate, toPlainDate } from '../src/domain/calendar.ts';
import type { PlainDate } from '../src/domain/ids.ts';

/** The date so many days from now, in UTC. */
export const inDays = (days: number): PlainDate =>
  toPlainDate(Temporal.PlainDate.from(localDate(Date.now(), 'UTC')).add({ days }));
