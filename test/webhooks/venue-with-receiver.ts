import { afterEach, beforeEach } from 'vitest';
import { type Receiver, startReceiver } from './receiver.ts';
import { openVenue, type Venue } from './venue.ts';

/** The venue and the receiver of the test that is running. */
export let venue: Venue;
export let receiver: Receiver;

/** Opens both before each test of a file, and closes them after it. */
export function openVenueWithReceiver(): void {
  beforeEach(async () => {
    venue = await openVenue();
    receiver = await startReceiver();
  });
  afterEach(async () => {
    await venue.close();
    await receiver.close();
  });
}
