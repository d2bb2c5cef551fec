import { openMailVenue } from './mail-venue.ts';

/** A separate process that sends the mails of the stores in a folder until it is killed. `FAULT_POINT` may end it on the way. */
const [, , folder = '', url = ''] = process.argv;
const venue = await openMailVenue({ folder, url });
await venue.send();
