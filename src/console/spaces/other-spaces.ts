import { defined } from '../../domain/defined.ts';
import type { DayHours } from '../../domain/events.ts';
import type { SpaceId } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { type Html, html, namedText } from '../../html/html.ts';
import { choices } from '../parts/forms.ts';
import { type Form, idOf, type Problems } from '../parts/typed-form.ts';
import type { ReadTerms } from './hours-form.ts';

/** The part of the form of hours that applies it to other spaces. */

/** The choice of all other spaces. */
const ALL = 'all';

/** Those of some spaces that are ticked. */
export function tickedOf(form: Form, others: readonly Space[]): readonly Space[] {
  const ticked = form.all('also');
  if (ticked.includes(ALL)) return others;
  const ids = new Set(ticked.flatMap((id) => idOf(id) ?? []));
  return others.filter(({ spaceId }) => ids.has(spaceId));
}

/** Whether the others get the fees, too. */
export const copiesFees = (form: Form): boolean => form.text('alsoFees') !== '';

/** What the form asks for in another space, with the fees of that space. */
export function withOwnFees(read: ReadTerms, { week = [], special = {} }: Space): ReadTerms {
  return {
    ...read,
    days: read.days.map((day, index) => (day === 'closed' ? day : withFeeOf(day, week[index]))),
    special: new Map(Array.from(read.special, ([date, hours]) => [date, withFeeOf(hours, special[date])])),
  };
}

function withFeeOf({ windowStart, windowEnd }: DayHours, own: DayHours | 'closed' | undefined): DayHours {
  const eventFee = own === undefined || own === 'closed' ? undefined : own.eventFee;
  return { windowStart, windowEnd, ...defined({ eventFee }) };
}

export function otherSpaces(
  others: readonly Space[],
  also: ReadonlySet<SpaceId>,
  problems: Problems,
  withFees: boolean,
): Html | undefined {
  if (others.length === 0) return undefined;
  const all = others.length > 1 ? [{ value: ALL, label: `All ${others.length} other spaces`, checked: false }] : [];
  const list = others.map(({ spaceId, name }) => ({
    value: String(spaceId),
    label: namedText(name),
    checked: also.has(spaceId),
  }));
  const hint =
    'They get these hours, special dates and rules. Their fees stay, and so do special dates that only they have.';
  return html`<details class="also"${also.size > 0 && html` open`}><summary class="button quiet small">Apply to other spaces…</summary>
${choices({ name: 'also', label: 'Other spaces', hint, problems }, 'checkbox', [...all, ...list])}
${choices({ name: 'alsoFees', label: 'Fees', problems }, 'checkbox', [
  { value: 'yes', label: 'They get the fees of these days and dates, too, instead of their own', checked: withFees },
])}</details>`;
}
