import { type PermissionName, permissionNames } from '../domain/permissions.ts';

/** Names and descriptions of the permissions. */
export const PERMISSION_LABELS: Readonly<Record<PermissionName, { readonly label: string; readonly hint: string }>> = {
  ReadAvailability: { label: 'View availability', hint: 'See which start times of a space are available on a day.' },
  ReadBookings: { label: 'View bookings', hint: 'List the bookings that this account can see, with their history.' },
  WriteBookings: { label: 'Request bookings', hint: 'Send booking requests on behalf of this brand.' },
  ReadReviews: { label: 'View reviews', hint: 'Read reviews of communities.' },
  Customers: { label: 'Keep customers', hint: 'Read and add customers of this community, with contacts and notes.' },
  Webhooks: { label: 'Manage webhooks', hint: 'Register and remove endpoints that receive booking and review events.' },
};

/** The labels of a sum of flags. */
export const permissionsText = (mask: number): string =>
  permissionNames(mask)
    .map((name) => PERMISSION_LABELS[name].label)
    .join(', ');
