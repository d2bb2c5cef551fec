import type { PlainDate } from '../../domain/ids.ts';
import type { Html } from '../../html/html.ts';
import { addressOf, tabs } from '../parts/links.ts';

/** The links between the month, the week and the day of a date. */
export const calendarTabs = (current: 'month' | 'week' | 'day', date: PlainDate): Html =>
  tabs('View', [
    {
      label: 'Month',
      href: addressOf('/console/calendar', { month: date.slice(0, 7) }),
      current: current === 'month',
    },
    { label: 'Week', href: `/console/calendar/week/${date}`, current: current === 'week' },
    { label: 'Day', href: `/console/calendar/${date}`, current: current === 'day' },
  ]);
