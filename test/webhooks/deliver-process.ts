import { openVenue } from './venue.ts';
import { watched } from './watched-documents.ts';

/**
 * A separate process that delivers from the stores in a folder until it is killed. Its clock may be off, in milliseconds. With
 * the third argument it kills itself at or after the second such call to the deliveries.
 */
const [, , folder = '', shift = '0', killAt] = process.argv;
const venue = await openVenue({ folder });
venue.advance(Number(shift));
let calls = 0;
const dieAt = (point: string) => (method: string, collection: string) => {
  if (collection === 'webhookDeliveries' && point + method === killAt && ++calls === 2)
    process.kill(process.pid, 'SIGKILL');
};
await venue.deliver({ documents: watched(venue.documents, { before: dieAt(''), after: dieAt('after ') }) });
