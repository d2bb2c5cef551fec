/** Names of the streams: one for each thing whose invariants one append guards. */
export const streamOf = {
  spaceDay: (spaceId: number, date: string) => `spaceDay-${spaceId}-${date}`,
  community: (id: number) => `community-${id}`,
  space: (id: number) => `space-${id}`,
  brand: (id: number) => `brand-${id}`,
  review: (bookingId: number) => `review-${bookingId}`,
  apiKey: (id: string) => `apiKey-${id}`,
  webhook: (id: string) => `webhook-${id}`,
  sequence: (name: string) => `sequence-${name}`,
};
