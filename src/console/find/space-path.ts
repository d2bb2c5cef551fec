import type { PlainDate } from '../../domain/ids.ts';
import { addressOf, type Fields } from '../parts/links.ts';
import type { Form } from '../parts/typed-form.ts';

/** Fields that the links and the forms of the page carry. */
export type CarriedFields = {
  /** The start time that was chosen before. */
  readonly start?: number | undefined;
  /** The booking to make once more. */
  readonly again?: number | undefined;
  /** The list that the page was opened from. */
  readonly via?: string | undefined;
};

export const fieldsOf = ({ start, again, via }: CarriedFields): Fields => ({
  start: start?.toString(),
  again: again?.toString(),
  via,
});

/** The page of a space, for a brand. */
export const spacePath = (
  spaceId: number,
  { date, ...carried }: CarriedFields & { readonly date?: PlainDate },
): string => addressOf(`/console/find/${spaceId}`, { date, ...fieldsOf(carried) });

/** The page of the free days of a space in a month. */
export const monthPath = (spaceId: number, month: string, carried: CarriedFields): string =>
  addressOf(`/console/find/${spaceId}/month`, { month, ...fieldsOf(carried) });

/** An hour in a form or address. */
export function hourIn(form: Form, name: string): number | undefined {
  const hour = form.integer(name);
  return Number.isNaN(hour) ? undefined : hour;
}
