import type { NamedChange, Topic } from '../../domain/account-change.ts';
import { addressOf } from './links.ts';
import type { Visit } from './visit.ts';

export const PATH = '/console/history';

/** The history of one thing, such as `space:3`. `via`: the list to which the page of the thing leads back. */
export const historyOf = (
  kind: NamedChange['of']['kind'],
  id: string | number,
  { via }: Pick<Visit, 'via'> = {},
): string => addressOf(PATH, { of: `${kind}:${id}`, via });

/** The history of everything of one kind. */
export const historyOfAll = (topic: Topic): string => addressOf(PATH, { topic });
