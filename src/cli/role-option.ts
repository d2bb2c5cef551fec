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

/** Accepts a role as the help lists it, and as the output names it: `CoordinatorWithoutAmounts`. */
function roleNamed(text: string): Role {
  const name = text.toLowerCase().replaceAll('-', '');
  const role = ROLES.find((one) => one.toLowerCase() === name);
  if (role === undefined) throw new InvalidArgumentError(`It must be one of ${OPTIONS}.`);
  return role;
}
