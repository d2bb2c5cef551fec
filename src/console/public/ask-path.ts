import { SIGN_UP_PATH } from '../../auth/links.ts';
import type { PlainDate } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { addressOf } from '../parts/links.ts';
import type { Settings } from '../parts/visit.ts';

type Wanted = { readonly date?: PlainDate | undefined; readonly start?: number | undefined };

/** Where people without an account ask for a space: they sign up, if they may, or sign in. */
export const askPath = (
  { signUp }: Pick<Settings, 'signUp'>,
  { spaceId }: Space,
  { date, start }: Wanted = {},
): string =>
  signUp === undefined
    ? addressOf(`/console/find/${spaceId}`, { date, start: start?.toString() })
    : addressOf(SIGN_UP_PATH, { space: String(spaceId), date, startHour: start?.toString() });
