import type { Decision } from './decision.ts';
import type { SubjectForgotten } from './events.ts';
import type { Subject } from './personal-text.ts';

/** Whether the log says that a subject was forgotten. */
export type IsForgotten = boolean;

export const evolveForgotten = (_: IsForgotten, event: SubjectForgotten): IsForgotten =>
  event.type === 'SubjectForgotten';

/** Records that a subject was forgotten (docs/decisions/personal-data.md). No event if the log says so already. */
export const forgetSubject = (isForgotten: IsForgotten, subject: Subject): Decision<SubjectForgotten> =>
  isForgotten ? [] : [{ type: 'SubjectForgotten', data: { subject } }];
