import type { Role } from '../../domain/roles.ts';

/** What each role allows, in words that follow its name. */
export const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  Viewer: 'reads requests, bookings, spaces and the history, and changes nothing',
  Coordinator: 'handles requests, bookings, closed times and reviews',
  Manager: 'may do everything',
};
