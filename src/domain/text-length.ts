/** Whether a text has more than `max` characters (code points, so that an emoji counts once rather than twice). */
export const isLongerThan = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || Array.from(text).length > max);
