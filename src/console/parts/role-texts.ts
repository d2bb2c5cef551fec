import type { Role } from '../../domain/roles.ts';
import { type Html, html, named } from '../../html/html.ts';

/** What each role allows, in words that follow its name. */
export const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  Viewer: 'reads requests, bookings, spaces and the history, and changes nothing',
  Coordinator: 'handles requests, bookings and reviews, and the closed times of a community',
  Manager: 'may do everything',
};

/** What an invitation is about, for the person who was invited. */
export const invitationText = (accountName: string, { role }: { readonly role: Role }): Html =>
  html`You are invited to act for ${named(accountName)} as a ${role}. A ${role} ${ROLE_TEXTS[role]}.`;
