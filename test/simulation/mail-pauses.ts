import * as original from '../../src/mail/outcome.ts';
import { RATE } from './process.ts';

export * from '../../src/mail/outcome.ts';

/** The pause while a mail server is away is one of the calendar, measured with a timer. */
export const pauseAfter: typeof original.pauseAfter = (failures) => original.pauseAfter(failures) / RATE;
