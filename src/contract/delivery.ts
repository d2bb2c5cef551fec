/** `Cancelled`: the registration was removed or disabled, or its key revoked, before it could be delivered. */
export const DELIVERY_STATES = ['Pending', 'Delivered', 'Failed', 'Cancelled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];
