import { ROLE_NAMES, ROLES, type Role } from '../../domain/roles.ts';
import { type Html, html, named } from '../../html/html.ts';
import { choices } from './forms.ts';
import type { Problems } from './typed-form.ts';

/** What each role allows, in words that follow its name. */
const ROLE_TEXTS: Readonly<Record<Role, string>> = {
  ViewerWithoutAmounts: 'reads the same as a Viewer, but no prices, earnings or charges',
  Viewer: 'reads requests, bookings, spaces and the history, and changes nothing',
  CoordinatorWithoutAmounts: 'does the same as a Coordinator, but sees and changes no prices, earnings or charges',
  Coordinator: 'handles requests, bookings and reviews, and the closed times of a community',
  Manager: 'may do everything',
};

/** What an invitation is about, for the person who was invited. */
export const invitationText = (accountName: string, { role }: { readonly role: Role }): Html =>
  html`You are invited to act for ${named(accountName)} as a ${ROLE_NAMES[role]}. A ${ROLE_NAMES[role]} ${ROLE_TEXTS[role]}.`;

/** The choice of a role. */
export const roleChoices = (chosen: string, problems: Problems): Html =>
  choices(
    { name: 'role', label: 'Role', problems },
    'radio',
    ROLES.map((role) => ({ value: role, label: ROLE_NAMES[role], hint: ROLE_TEXTS[role], checked: role === chosen })),
  );
