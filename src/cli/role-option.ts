import { InvalidArgumentError } from '@commander-js/extra-typings';
import { ROLE_NAMES, ROLES, type Role } from '../domain/roles.ts';

/** The option `--role`. @param assumed the role without it, for the help */
export const roleOption = (assumed?: string) =>
  [
    '--role <role>',
    `${OPTIONS}: what the user may do${assumed === undefined ? '' : ` (default: ${assumed})`}`,
    roleNamed,
  ] as const;

/** `Coordinator without amounts` → `coordinator-without-amounts` */
const optionOf = (role: Role): string => ROLE_NAMES[role].toLowerCase().replaceAll(' ', '-');

const OPTIONS = ROLES.map(optionOf).reverse().join(', ');

function roleNamed(text: string): Role {
  const role = ROLES.find((one) => optionOf(one) === text.toLowerCase());
  if (role === undefined) throw new InvalidArgumentError(`It must be one of ${OPTIONS}.`);
  return role;
}
