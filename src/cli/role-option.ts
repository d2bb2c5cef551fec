import { InvalidArgumentError } from '@commander-js/extra-typings';
import { ROLES, type Role } from '../domain/roles.ts';

/** The option `--role`. @param assumed the role without it, for the help */
export const roleOption = (assumed?: string) =>
  [
    '--role <role>',
    `${ROLE_NAMES}: what the user may do${assumed === undefined ? '' : ` (default: ${assumed})`}`,
    roleNamed,
  ] as const;

const ROLE_NAMES = ROLES.map((role) => role.toLowerCase())
  .reverse()
  .join(', ');

function roleNamed(text: string): Role {
  const role = ROLES.find((one) => one.toLowerCase() === text.toLowerCase());
  if (role === undefined) throw new InvalidArgumentError(`It must be one of ${ROLE_NAMES}.`);
  return role;
}
