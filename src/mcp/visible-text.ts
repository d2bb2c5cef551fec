/**
 * Characters that people do not see and models read: text can be hidden in them. Joiners and variation selectors that scripts and
 * emoji need are left, and so are line breaks.
 */
const HIDDEN =
  /[[\p{Cc}--[\n\r\t]]\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e01ef}]+/gv;
/** Flags of regions are written with such characters. */
const EMOJI_OR_HIDDEN = new RegExp(`(\\p{RGI_Emoji})|${HIDDEN.source}`, 'gv');

/** A result as people would see it: without hidden characters in any of its texts. */
export function visible<T>(result: T): T;
export function visible(result: unknown): unknown {
  if (typeof result === 'string')
    return result.search(HIDDEN) >= 0 ? result.replace(EMOJI_OR_HIDDEN, (_, emoji = '') => emoji) : result;
  if (Array.isArray(result)) return result.map(visible);
  if (typeof result === 'object' && result !== null)
    return Object.fromEntries(Object.entries(result).map(([key, value]) => [key, visible(value)]));
  return result;
}
