/** Whether a text has more than `max` characters, as people count them: an emoji outside the basic plane is one, not two. */
export const isLongerThan = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || Array.from(text).length > max);
