import { localDate, toPlainDate } from '../src/domain/calendar.ts';
import type { PlainDate } from '../src/domain/ids.ts';

/** Read once, so that a request repeated after midnight names the same date. */
const TODAY = Temporal.PlainDate.from(localDate(Date.now(), 'UTC'));

/** The date so many days from now, in UTC. */
export const inDays = (days: number): PlainDate => toPlainDate(TODAY.add({ days }));
