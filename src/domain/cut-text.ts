const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The beginning of a text, of at most `most` code points. It ends between characters as readers see them: an emoji can be a dozen code
 * points.
 */
export function beginningOf(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = [...text.slice(0, 2 * most)].slice(0, most).join('').length;
  const cutCharacter = graphemes.segment(text).containing(end);
  // A first character that is longer than that is cut.
  return text.slice(0, cutCharacter?.index || end);
}

/** A text cut to `most` code points, the last of which is an ellipsis. */
export const cutText = (text: string, most: number): string =>
  beginningOf(text, most) === text ? text : `${beginningOf(text, most - 1)}…`;
