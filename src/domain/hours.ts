/** An hour of the day, which may be fractional, on the 24-hour clock: `09:30`. */
export function clockTime(hour: number): string {
  const minutes = Math.round(hour * 60);
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
}

/** `09:00–13:30` */
export const hoursBetween = (from: number, until: number): string => `${clockTime(from)}–${clockTime(until)}`;
