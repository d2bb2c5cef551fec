/**
 * `Cancelled`: before it could be delivered, the registration was removed or disabled, its key was revoked, or the event was lost in a
 * restore of the log.
 */
export const DELIVERY_STATES = ['Pending', 'Delivered', 'Failed', 'Cancelled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];
