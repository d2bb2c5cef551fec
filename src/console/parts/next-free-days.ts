import { daysLater } from '../../domain/calendar.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { PlainDate } from '../../domain/ids.ts';
import type { Queries } from '../../queries/queries.ts';

/** How far ahead to look, in days. */
const LOOK_AHEAD = 90;

/** The next days after a date on which an event can start at an hour, in any of these spaces. */
export async function nextFreeDays(
  { openDays }: Pick<Queries, 'openDays'>,
  wanted: Pick<Parameters<typeof openDays>[0], 'account' | 'spaceIds' | 'weekdays' | 'startHour'>,
  date: PlainDate,
  limit: number,
): Promise<readonly PlainDate[]> {
  const [from, to] = [daysLater(date, 1), daysLater(date, LOOK_AHEAD)];
  const page = await openDays({ ...wanted, from, to, limit });
  return isRefusal(page) ? [] : page.days.map((day) => day.date);
}
