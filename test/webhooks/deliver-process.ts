import { openVenue } from './venue.ts';

/** A separate process that delivers from the stores in a folder until it is killed. */
const venue = await openVenue({ folder: process.argv[2] ?? '' });
await venue.deliver();
