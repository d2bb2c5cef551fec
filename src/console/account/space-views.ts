import type { Space } from '../../domain/space.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { amount, clock, duration } from '../parts/formats.ts';
import { actionButton, confirm } from '../parts/forms.ts';
import type { Visit } from '../parts/visit.ts';

export const PATH = '/console/spaces';

export const LABELS = {
  name: 'Name',
  windowStart: 'Opens at',
  windowEnd: 'Closes at',
  durationHours: 'Event length',
  eventFee: 'Event fee',
  answerHours: 'Time to answer',
} as const;

/** The form's fields as they were typed. */
export type Typed = Readonly<Record<keyof typeof LABELS, string>>;

/** The terms as pages show them. */
export const shownTerms = (space: Space, currency: string): Typed => ({
  name: namedText(space.name),
  windowStart: clock(space.windowStart),
  windowEnd: clock(space.windowEnd),
  durationHours: duration(space.durationHours),
  eventFee: amount(space.eventFee, currency),
  answerHours: duration(space.answerHours),
});

export const openBadge = ({ active }: Space): Html =>
  active
    ? html`<span class="status is-approved">${icon('approved')}Open</span>`
    : html`<span class="status is-cancelled">${icon('cancelled')}Closed</span>`;

/** @param to completes the addresses of its forms */
export const openOrClose = (
  visit: Visit,
  { spaceId, active, name }: Space,
  to: (path: string) => string = (path) => path,
): Html =>
  active
    ? confirm(visit, {
        action: to(`${PATH}/${spaceId}/close`),
        open: 'Close…',
        name,
        question: `Close ${namedText(name)}? It takes no new bookings until you reopen it. Existing ones are kept.`,
        submit: 'Close space',
      })
    : actionButton(
        visit,
        to(`${PATH}/${spaceId}/open`),
        html`Reopen<span class="visually-hidden"> ${named(name)}</span>`,
        'small',
      );
