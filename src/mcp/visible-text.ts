/**
 * Characters that are invisible to people but read by models: text can be hidden in them, even a byte at a time in variation selectors.
 * Joiners that scripts need stay, and so do line breaks.
 */
const HIDDEN_SET = [
  String.raw`[\p{Cc}--[\n\r\t]]\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f`,
  String.raw`\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164`,
  String.raw`\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e01ef}`,
].join('');
const HIDDEN = new RegExp(`[${HIDDEN_SET}]+`, 'gv');
/** Emoji are kept whole, because many contain such characters: flags of regions, hearts. */
const EMOJI_OR_HIDDEN = new RegExp(`(\\p{RGI_Emoji})|${HIDDEN.source}`, 'gv');

/** A result without hidden characters in any of its texts. */
export function visible<T>(result: T): T;
export function visible(result: unknown): unknown {
  if (typeof result === 'string')
    return result.search(HIDDEN) >= 0 ? result.replace(EMOJI_OR_HIDDEN, (_, emoji = '') => emoji) : result;
  if (Array.isArray(result)) return result.map(visible);
  if (typeof result === 'object' && result !== null)
    return Object.fromEntries(Object.entries(result).map(([key, value]) => [key, visible(value)]));
  return result;
}
