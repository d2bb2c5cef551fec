import { openVenue } from './venue.ts';

/** A separate process that delivers from the stores in a folder until it is killed; its clock may be off, in milliseconds. */
const venue = await openVenue({ folder: process.argv[2] ?? '' });
venue.moveClock(Number(process.argv[3] ?? 0));
await venue.deliver();
