import type { Decision } from './decision.ts';
import type { SubjectForgotten } from './events.ts';
import type { Subject } from './personal-text.ts';

/** Whether the log says that a subject was forgotten. */
export type IsForgotten = boolean;

export const evolveForgotten = (_: IsForgotten, event: SubjectForgotten): IsForgotten =>
  event.type === 'SubjectForgotten';

/** Decides that the log says so (docs/decisions/personal-data.md). No event if it does already. */
export const forgetSubject = (isForgotten: IsForgotten, subject: Subject): Decision<SubjectForgotten> =>
  isForgotten ? [] : [{ type: 'SubjectForgotten', data: { subject } }];
