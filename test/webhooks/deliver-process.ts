import { openVenue } from './venue.ts';

/** A process of its own that delivers from the stores in a folder until it is killed. */
const venue = await openVenue({ folder: process.argv[2] ?? '' });
await venue.deliver();
